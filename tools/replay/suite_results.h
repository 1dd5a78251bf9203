// What became of the cases of a suite: one file per shard, merged afterwards.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/replay/suite.h"

namespace modeld::replay {

enum class CaseVerdict : uint8_t {
  kPassed,
  kFailed,  // the answers differ
  kError,   // no answers: the route, the model or the device is at fault
};
std::string_view to_string(CaseVerdict verdict);  // "passed", "failed", "error"

struct CaseResult {
  std::string name;
  CaseVerdict verdict = CaseVerdict::kError;
  std::string text;  // why not; empty if passed
  double seconds = 0;
  uint64_t frames = 0;
  uint64_t published = 0;
  uint64_t invalid = 0;
};

// A shard's cases so far, or all shards' once merged.
struct SuiteResults {
  std::string identity;            // of models and backend: results of different ones never mix
  std::vector<std::string> suite;  // all case names, sorted
  Shard shard;
  std::vector<CaseResult> cases;  // in the order of `suite`

  const CaseResult* find(const std::string& name) const;
  size_t count(CaseVerdict verdict) const;
};

// A JSON file, replaced atomically. kCorrupt names file and what is wrong with it.
Status save_results(const std::filesystem::path& path, const SuiteResults& results);
Result<SuiteResults> load_results(const std::filesystem::path& path);

// All shards of one run as one. kCheckFailed, naming what, if a shard or a case is missing, comes
// twice, or belongs to another run; nothing is ever counted twice or left out.
Result<SuiteResults> merge_results(std::span<const SuiteResults> shards);

}  // namespace modeld::replay
