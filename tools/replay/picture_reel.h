// The pictures of one camera over all segments of a route.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/base/result.h"
#include "tools/replay/camera_kind.h"
#include "tools/replay/frame_list.h"
#include "tools/replay/picture_source.h"
#include "tools/replay/replay_stream.h"
#include "tools/replay/route_files.h"

namespace modeld::replay {

// One segment's source is open at a time; frames are asked for in order.
class PictureReel {
 public:
  PictureReel(Camera camera, const RouteFiles& files) : camera_(camera), files_(files) {}

  // Of the first segment whose pictures can be opened; an error names all that cannot.
  Result<FrameSize> first_size();

  // The picture of `frame` into `buffer`. Nothing if it is there; else the reason it is not, as
  // counted: "noPicture" (no file, behind its end), "notDecodable", "pictureSize" (another size
  // than `layout`, where no scaling is meant).
  Result<std::optional<std::string>> read(const RouteFrame& frame, const Nv12Layout& layout,
                                          bool scale, std::span<std::byte> buffer);

  // In words, once per segment: files that could not be opened.
  const std::set<std::string>& notes() const { return notes_; }

 private:
  PictureSource* open(size_t segment);

  const Camera camera_;
  const RouteFiles& files_;
  std::optional<size_t> segment_;
  std::unique_ptr<PictureSource> source_;
  std::set<std::string> notes_;
};

}  // namespace modeld::replay
