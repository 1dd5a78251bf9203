#include "tools/replay/timeline.h"

#include <algorithm>
#include <map>

namespace modeld::replay {

std::vector<TimelineEntry> make_timeline(const RouteLog& log, const PerCamera<FrameList>& frames) {
  std::map<size_t, TimelineEntry> behind;  // by message
  std::vector<TimelineEntry> alone;
  for (const Camera camera : kCameras) {
    const auto& list = frames[index_of(camera)].frames;
    for (size_t i = 0; i < list.size(); ++i) {
      const TimelineEntry entry{list[i].time, true, camera, i};
      if (list[i].message) {
        behind.emplace(*list[i].message, entry);
      } else {
        alone.push_back(entry);
      }
    }
  }
  std::vector<TimelineEntry> timeline;
  timeline.reserve(log.messages().size() + behind.size() + alone.size());
  for (size_t i = 0; i < log.messages().size(); ++i) {
    timeline.push_back({log.messages()[i].time, false, Camera::kNarrowRoad, i});
    if (const auto frame = behind.find(i); frame != behind.end()) {
      timeline.push_back(frame->second);
    }
  }
  timeline.insert(timeline.end(), alone.begin(), alone.end());
  std::stable_sort(timeline.begin(), timeline.end(),
                   [](const TimelineEntry& a, const TimelineEntry& b) { return a.time < b.time; });
  return timeline;
}

}  // namespace modeld::replay
