// Which picture is which frame, and when it comes. The rules are in README.md beside this file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/replay/camera_kind.h"
#include "tools/replay/route_files.h"
#include "tools/replay/route_log.h"

namespace modeld::replay {

struct RouteFrame {
  uint32_t frame_id = 0;
  uint64_t timestamp_sof = 0;  // ns, CLOCK_BOOTTIME
  uint64_t timestamp_eof = 0;
  Nanoseconds time = 0;           // when it comes, on the clock of logMonoTime
  std::optional<size_t> message;  // right behind this camera state; nothing: a frame without one
  // Where its picture should be; nothing: the log says it existed, and not where.
  std::optional<size_t> segment;  // position in RouteFiles::segments
  uint32_t picture = 0;
};

struct FrameList {
  std::vector<RouteFrame> frames;  // by frame id within each segment, segments in order
  uint64_t repeated = 0;           // entries for an id already known, ignored
  std::vector<std::string> notes;  // what was odd, for people
};

// Sources, the first there is: the picture folder's own list; the index messages of the video; the
// camera states alone (picture = frame id - smallest frame id of the segment). Empty for a camera
// without pictures.
Result<FrameList> list_frames(Camera camera, const RouteFiles& files, const RouteLog& log);

}  // namespace modeld::replay
