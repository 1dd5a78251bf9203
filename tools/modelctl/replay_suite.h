// `modelctl replay --expect` and `--merge`.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/modelctl/replay_models.h"

namespace modeld::modelctl {

struct SuiteOptions {
  std::string version;  // of this program
  ReplayModelOptions models;
  std::string folder;  // of cases
  std::string shard = "1/1";
  std::string results;  // file
  std::string junit;    // file
  double tolerance = 0;
  bool update = false;  // write the expected answers instead of comparing
  bool json = false;
};

// Replays the shard's cases; what the results file already holds of the same run is not done again.
// kCheckFailed if a case did not pass.
Status run_suite(const SuiteOptions& options);

// Reads the results of all shards, writes them as one. kCheckFailed if a case did not pass, or if
// shards or cases are missing or doubled.
Status merge_suite(const std::vector<std::string>& files, const SuiteOptions& options);

}  // namespace modeld::modelctl
