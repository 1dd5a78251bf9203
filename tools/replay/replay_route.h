// A whole replay: from a path to a log in memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/replay/log_compare.h"
#include "tools/replay/replayer.h"
#include "tools/replay/route_files.h"

namespace modeld::replay {

struct ReplayRequest {
  std::filesystem::path route;
  FileChoice choice;
  ReplayOptions options;
  std::string version;  // of the program, for initData
};

struct ReplayOutcome {
  ReplayReport report;
  std::vector<std::byte> log;  // unpacked
};

Result<ReplayOutcome> replay_route(const ReplayRequest& request, std::vector<ReplayModel> models);

// All messages of a log file, or of the logs of a route.
Result<std::vector<std::byte>> read_reference(const std::filesystem::path& path);

// What of a reference such a replay can be compared with: the roles that were replayed and, where
// only a part of the route was, the frames that were shown.
CompareOptions compare_options(const ReplayReport& report, const ReplayOptions& options,
                               double tolerance);

}  // namespace modeld::replay
