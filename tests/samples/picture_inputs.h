// Pictures as inputs of the sample networks.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/images/rgb_image.h"

namespace modeld::test {

// Ten different pictures: views of the handed road frames and portraits (which must be there), or
// of the drawn scenes; some differ in framing or exposure only.
std::vector<RgbImage> ten_recorded_pictures();
std::vector<RgbImage> ten_drawn_pictures();

// Twelve planes 128 x 256 of two frames 512 x 256, the older one a few pixels off (facts 4.4, plane
// order of facts/test-material "Shapes").
std::vector<uint8_t> driving_planes(const RgbImage& picture);

// 1440 x 960 luma.
std::vector<uint8_t> monitoring_luma(const RgbImage& picture);

}  // namespace modeld::test
