// Everything that happens in a route, in order.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/clock.h"
#include "tools/replay/frame_list.h"
#include "tools/replay/route_log.h"

namespace modeld::replay {

struct TimelineEntry {
  Nanoseconds time = 0;
  bool is_frame = false;
  Camera camera = Camera::kNarrowRoad;  // of a frame
  size_t index = 0;                     // into the camera's frames, or into RouteLog::messages()
};

// By time; what has the same time stays in the order of the log. A frame comes right behind its
// camera state; one without a state behind all messages of its time (narrow, wide, cabin).
std::vector<TimelineEntry> make_timeline(const RouteLog& log, const PerCamera<FrameList>& frames);

}  // namespace modeld::replay
