// Pictures as plain RGB, for tools and tests; the daemons never see one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/result.h"

namespace modeld {

// Limits on what a file may claim to be: nothing larger is decoded, scaled or drawn.
constexpr uint32_t kMaxImageSide = 16384;
constexpr uint64_t kMaxImagePixels = uint64_t{64} << 20;

// Rows from the top, three bytes (red, green, blue) a pixel, no padding. A plain value.
struct RgbImage {
  uint32_t width = 0;   // pixels
  uint32_t height = 0;  // pixels
  std::vector<uint8_t> pixels;

  const uint8_t* at(uint32_t x, uint32_t y) const {
    return pixels.data() + (static_cast<size_t>(y) * width + x) * 3;
  }
  uint8_t* at(uint32_t x, uint32_t y) {
    return pixels.data() + (static_cast<size_t>(y) * width + x) * 3;
  }
};

// A black picture. kRefused if a side is 0 or beyond the limits above.
Result<RgbImage> make_image(uint32_t width, uint32_t height);

// The rectangle must lie inside the picture (kInvalidArgument names both).
Result<RgbImage> crop(const RgbImage& image, uint32_t left, uint32_t top, uint32_t width,
                      uint32_t height);

// Any size to any other, sides independently: the mean of the covered area when shrinking,
// bilinear when growing. kRefused for a size beyond the limits.
Result<RgbImage> scale(const RgbImage& image, uint32_t width, uint32_t height);

}  // namespace modeld
