// A video file as pictures, decoded through libav.
#pragma once

#include <memory>

#include "tools/replay/picture_source.h"

namespace modeld::replay {

// Decodes forward only; pictures nobody asks for are decoded and thrown away. In a stream without
// re-ordered pictures (all of openpilot's), picture k is what packet k decodes to, so that a broken
// packet costs its own number and shifts nobody; else the k-th picture in order of showing.
class VideoSource final : public PictureSource {
 public:
  // kUnsupported for a pixel format other than planar or semi-planar 8-bit 4:2:0.
  static Result<std::unique_ptr<PictureSource>> open(const std::filesystem::path& path);
  ~VideoSource() override;

  FrameSize size() const override;
  Result<PictureRead> read(uint32_t index, const Nv12Layout& layout,
                           std::span<std::byte> frame) override;
  const std::string& why() const override { return why_; }

 private:
  struct Decoder;
  explicit VideoSource(std::unique_ptr<Decoder> decoder);

  std::unique_ptr<Decoder> decoder_;
  std::string why_;
};

}  // namespace modeld::replay
