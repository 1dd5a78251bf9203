#include "tools/replay/picture_reel.h"

namespace modeld::replay {

PictureSource* PictureReel::open(size_t segment) {
  if (segment_ == segment) return source_.get();
  segment_ = segment;
  source_.reset();
  const std::filesystem::path& path = files_.segments[segment].pictures[index_of(camera_)];
  if (path.empty()) return nullptr;
  auto opened = open_pictures(path);
  if (opened.ok()) {
    source_ = std::move(opened).value();
  } else {
    notes_.insert(to_string(opened.error()));
  }
  return source_.get();
}

Result<FrameSize> PictureReel::first_size() {
  for (size_t i = 0; i < files_.segments.size(); ++i) {
    if (const PictureSource* const source = open(i)) return source->size();
  }
  std::string all;
  for (const std::string& note : notes_) all += (all.empty() ? "" : "; ") + note;
  return Error(ErrorCode::kCorrupt,
               "no pictures of the " + std::string(names_of(camera_).name) + " camera: " + all);
}

Result<std::optional<std::string>> PictureReel::read(const RouteFrame& frame,
                                                     const Nv12Layout& layout, bool scale,
                                                     std::span<std::byte> buffer) {
  using Reason = std::optional<std::string>;
  PictureSource* const source = frame.segment ? open(*frame.segment) : nullptr;
  if (source == nullptr) return Reason("noPicture");
  const FrameSize size = source->size();
  if (!scale && size != FrameSize{layout.width, layout.height}) return Reason("pictureSize");
  MODELD_ASSIGN(const PictureRead read, source->read(frame.picture, layout, buffer));
  switch (read) {
    case PictureRead::kRead:
      return Reason();
    case PictureRead::kMissing:
      return Reason("noPicture");
    case PictureRead::kBroken:
      notes_.insert(source->why());
      return Reason("notDecodable");
  }
  return Reason();
}

}  // namespace modeld::replay
