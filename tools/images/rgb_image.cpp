#include "tools/images/rgb_image.h"

#include <libyuv/planar_functions.h>
#include <libyuv/scale.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include "runtime/base/checked.h"

namespace modeld {
namespace {

std::string size_text(uint64_t width, uint64_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

}  // namespace

Result<RgbImage> make_image(uint32_t width, uint32_t height) {
  const bool fits = width > 0 && height > 0 && width <= kMaxImageSide && height <= kMaxImageSide &&
                    uint64_t{width} * height <= kMaxImagePixels;
  if (!fits) {
    return Error(ErrorCode::kRefused, "picture size out of range")
        .expecting("sides of 1 to " + std::to_string(kMaxImageSide) + " and at most " +
                       std::to_string(kMaxImagePixels) + " pixels",
                   size_text(width, height));
  }
  RgbImage image{width, height, {}};
  image.pixels.resize(size_t{width} * height * 3);
  return image;
}

Result<RgbImage> crop(const RgbImage& image, uint32_t left, uint32_t top, uint32_t width,
                      uint32_t height) {
  if (!range_fits(left, width, image.width) || !range_fits(top, height, image.height)) {
    return Error(ErrorCode::kInvalidArgument, "crop reaches outside the picture")
        .expecting("inside " + size_text(image.width, image.height),
                   size_text(width, height) + " at " + size_text(left, top));
  }
  MODELD_ASSIGN(RgbImage out, make_image(width, height));
  for (uint32_t y = 0; y < height; ++y) {
    const uint8_t* from = image.at(left, top + y);
    std::copy(from, from + size_t{width} * 3, out.at(0, y));
  }
  return out;
}

// libyuv averages areas exactly on single planes only, hence the way through three of them.
Result<RgbImage> scale(const RgbImage& image, uint32_t width, uint32_t height) {
  assert(image.pixels.size() == size_t{image.width} * image.height * 3 && !image.pixels.empty());
  MODELD_ASSIGN(RgbImage out, make_image(width, height));
  const int from_width = static_cast<int>(image.width);
  const int from_height = static_cast<int>(image.height);
  const int to_width = static_cast<int>(width);
  const int to_height = static_cast<int>(height);
  std::array<std::vector<uint8_t>, 3> source;
  std::array<std::vector<uint8_t>, 3> target;
  for (auto& plane : source) plane.resize(size_t{image.width} * image.height);
  for (auto& plane : target) plane.resize(size_t{width} * height);
  libyuv::SplitRGBPlane(image.pixels.data(), from_width * 3, source[0].data(), from_width,
                        source[1].data(), from_width, source[2].data(), from_width, from_width,
                        from_height);
  for (size_t plane = 0; plane < 3; ++plane) {
    libyuv::ScalePlane(source[plane].data(), from_width, from_width, from_height,
                       target[plane].data(), to_width, to_width, to_height, libyuv::kFilterBox);
  }
  libyuv::MergeRGBPlane(target[0].data(), to_width, target[1].data(), to_width, target[2].data(),
                        to_width, out.pixels.data(), to_width * 3, to_width, to_height);
  return out;
}

}  // namespace modeld
