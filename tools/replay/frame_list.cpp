#include "tools/replay/frame_list.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "tools/replay/image_folder.h"

namespace modeld::replay {
namespace {

namespace fs = std::filesystem;

using Places = std::map<int32_t, size_t>;  // segment number -> position in RouteFiles::segments

std::string text(std::optional<int32_t> number) {
  return number ? std::to_string(*number) : "none";
}

// The number most index messages of a segment's log carry: recorders write them into the log of the
// segment the video belongs to, but for a few around the change.
std::map<size_t, int32_t> numbers_by_log(std::span<const EncodeEntry> index) {
  std::map<size_t, std::map<int32_t, uint64_t>> votes;
  for (const EncodeEntry& entry : index) ++votes[entry.segment][entry.segment_number];
  std::map<size_t, int32_t> numbers;
  for (const auto& [segment, counts] : votes) {
    numbers[segment] =
        std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
  }
  return numbers;
}

// Which folder holds the video of a segment number. Folders may have been renamed: what the index
// messages in their logs say counts, as long as no two folders claim one number.
Places place_segments(const RouteFiles& files, std::span<const EncodeEntry> index,
                      FrameList& list) {
  const std::map<size_t, int32_t> by_log = numbers_by_log(index);
  Places places;
  bool unique = true;
  for (const auto& [segment, number] : by_log) {
    unique = places.emplace(number, segment).second && unique;
    const SegmentFiles& named = files.segments[segment];
    if (named.number && named.number != number) {
      list.notes.push_back(named.name + ": its index says segment " + std::to_string(number) +
                           ", its name " + text(named.number));
    }
  }
  if (unique) return places;
  places.clear();
  for (size_t i = 0; i < files.segments.size(); ++i) {
    if (files.segments[i].number) places.emplace(*files.segments[i].number, i);
  }
  list.notes.emplace_back("several logs claim one segment number: the names of the folders count");
  return places;
}

class ListBuilder {
 public:
  ListBuilder(Camera camera, const RouteFiles& files, const RouteLog& log)
      : camera_(camera), files_(files), log_(log) {
    for (const CameraStateEntry& state : log.states(camera)) states_.emplace(state.frame_id, state);
    // How far the clock of messages is ahead of the end of exposure, for frames without a message.
    if (!log.states(camera).empty()) {
      const CameraStateEntry& first = log.states(camera).front();
      offset_ = log.messages()[first.message].time - static_cast<Nanoseconds>(first.timestamp_eof);
    }
  }

  void from_folder(size_t segment, const std::vector<FolderFrame>& frames) {
    uint32_t picture = 0;
    for (const FolderFrame& frame : frames) {
      add(frame.frame_id, bounded_time(frame.timestamp_sof), bounded_time(frame.timestamp_eof),
          segment, picture++);
    }
  }

  void from_index(std::span<const EncodeEntry> index) {
    const Places places = place_segments(files_, index, list_);
    for (const EncodeEntry& entry : index) {
      const auto place = places.find(entry.segment_number);
      std::optional<size_t> segment;
      if (place != places.end() && has_video(place->second)) segment = place->second;
      add(entry.frame_id, entry.timestamp_sof, entry.timestamp_eof, segment, entry.picture);
    }
  }

  void from_states() {
    std::map<size_t, uint32_t> smallest;
    for (const CameraStateEntry& state : log_.states(camera_)) {
      const auto [at, first] = smallest.emplace(state.segment, state.frame_id);
      if (!first) at->second = std::min(at->second, state.frame_id);
    }
    for (const CameraStateEntry& state : log_.states(camera_)) {
      std::optional<size_t> segment;
      if (has_video(state.segment)) segment = state.segment;
      add(state.frame_id, state.timestamp_sof, state.timestamp_eof, segment,
          state.frame_id - smallest[state.segment]);
    }
  }

  bool has_video(size_t segment) const {
    const fs::path& path = files_.segments[segment].pictures[index_of(camera_)];
    return !path.empty();
  }

  FrameList finish() {
    std::stable_sort(list_.frames.begin(), list_.frames.end(),
                     [](const RouteFrame& a, const RouteFrame& b) {
                       return std::pair(a.segment.value_or(SIZE_MAX), a.picture) <
                              std::pair(b.segment.value_or(SIZE_MAX), b.picture);
                     });
    return std::move(list_);
  }

 private:
  void add(uint32_t frame_id, uint64_t sof, uint64_t eof, std::optional<size_t> segment,
           uint32_t picture) {
    if (!known_.insert(frame_id).second) {
      ++list_.repeated;
      return;
    }
    RouteFrame frame{frame_id, sof,     eof,    static_cast<Nanoseconds>(eof) + offset_,
                     {},       segment, picture};
    if (const auto state = states_.find(frame_id); state != states_.end()) {
      frame.timestamp_sof = state->second.timestamp_sof;
      frame.timestamp_eof = state->second.timestamp_eof;
      frame.message = state->second.message;
      frame.time = log_.messages()[state->second.message].time;
    }
    if (frame.timestamp_sof == 0) {
      frame.timestamp_sof = frame.timestamp_eof - std::min(frame.timestamp_eof, kExposureNs);
    }
    list_.frames.push_back(frame);
  }

  const Camera camera_;
  const RouteFiles& files_;
  const RouteLog& log_;
  std::map<uint32_t, CameraStateEntry> states_;  // the first of each id
  std::set<uint32_t> known_;
  Nanoseconds offset_ = 0;
  FrameList list_;
};

}  // namespace

Result<FrameList> list_frames(Camera camera, const RouteFiles& files, const RouteLog& log) {
  ListBuilder builder(camera, files, log);
  bool folder = false;
  bool video = false;
  bool preview = false;
  for (size_t i = 0; i < files.segments.size(); ++i) {
    const fs::path& path = files.segments[i].pictures[index_of(camera)];
    if (path.empty()) continue;
    std::error_code failure;
    if (!fs::is_directory(path, failure)) {
      video = true;
      preview = preview || (camera == Camera::kNarrowRoad && files.segments[i].preview);
      continue;
    }
    folder = true;
    MODELD_ASSIGN(const auto frames, list_image_folder(path));
    builder.from_folder(i, frames);
  }
  if (video && folder) {
    return Error(ErrorCode::kInvalidArgument,
                 "route with both videos and picture folders of one camera")
        .expecting("one of the two", std::string(names_of(camera).name));
  }
  if (video) {
    const bool own = preview && !log.preview_index().empty();
    const auto index = own ? log.preview_index() : log.index(camera);
    if (!index.empty()) {
      builder.from_index(index);
    } else {
      builder.from_states();
    }
  }
  return builder.finish();
}

}  // namespace modeld::replay
