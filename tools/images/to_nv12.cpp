#include "tools/images/to_nv12.h"

#include <libyuv/convert.h>
#include <libyuv/planar_functions.h>

#include <limits>
#include <string>
#include <vector>

namespace modeld {

Status to_nv12(const RgbImage& image, const Nv12Layout& layout, std::span<uint8_t> frame) {
  MODELD_TRY(layout.check());
  if (image.width != layout.width || image.height != layout.height) {
    return Error(ErrorCode::kInvalidArgument, "picture and frame buffer differ in size")
        .expecting(std::to_string(layout.width) + " x " + std::to_string(layout.height),
                   std::to_string(image.width) + " x " + std::to_string(image.height));
  }
  if (frame.size() < layout.bytes_in_use()) {
    return Error(ErrorCode::kInvalidArgument, "frame buffer is too short for its layout")
        .expecting("at least " + std::to_string(layout.bytes_in_use()) + " bytes",
                   std::to_string(frame.size()) + " bytes");
  }
  if (layout.stride > static_cast<uint32_t>(std::numeric_limits<int>::max())) {
    return Error(ErrorCode::kUnsupported, "stride is beyond what the conversion takes")
        .expecting("at most " + std::to_string(std::numeric_limits<int>::max()),
                   std::to_string(layout.stride));
  }
  const int width = static_cast<int>(layout.width);
  const int height = static_cast<int>(layout.height);
  const int stride = static_cast<int>(layout.stride);
  const int half = width / 2;
  std::vector<uint8_t> chroma(size_t{2} * layout.width / 2 * (layout.height / 2));
  uint8_t* u = chroma.data();
  uint8_t* v = u + chroma.size() / 2;
  uint8_t* uv = frame.data() + layout.uv_offset;
  libyuv::RAWToJ420(image.pixels.data(), width * 3, frame.data(), stride, u, half, v, half, width,
                    height);
  libyuv::MergeUVPlane(u, half, v, half, uv, stride, half, height / 2);
  return {};
}

}  // namespace modeld
