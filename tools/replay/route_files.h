// Which files make up a route (README.md beside this file says what is looked for, and in which
// order).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/replay/camera_kind.h"

namespace modeld::replay {

struct SegmentFiles {
  std::string name;               // for people
  std::optional<int32_t> number;  // as its folder or its files are called
  std::filesystem::path log;      // empty: none
  // A video file or a folder of pictures; empty: none.
  PerCamera<std::filesystem::path> pictures;
  // The narrow camera's is the low-resolution copy.
  bool preview = false;
};

struct RouteFiles {
  std::vector<SegmentFiles> segments;  // in order of their numbers
};

// Takes the place of what is found; of the first segment where the route has several.
struct FileChoice {
  std::filesystem::path log;
  PerCamera<std::filesystem::path> pictures;
};

// `route`: a log, a segment's folder, a folder of segments (as folders `ROUTE--N` or as files
// `ROUTE--N--rlog.zst`), or the part of their paths before `--N`. kNotFound says what was looked
// for; kInvalidArgument for a folder of several routes.
Result<RouteFiles> find_route(const std::filesystem::path& route, const FileChoice& choice = {});

}  // namespace modeld::replay
