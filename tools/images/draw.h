// Pictures of our own making, for demonstrations and tests where no recorded ones are at hand.
#pragma once

#include <cstdint>

#include "runtime/base/result.h"
#include "tools/images/rgb_image.h"

namespace modeld {

// A three-lane road bending to the right, seen from 1.22 m above the middle lane: lane lines at
// -5.4, -1.8, 1.8 and 5.4 m, a car 22 m ahead and a lorry in the left lane 45 m ahead.
Result<RgbImage> draw_road_scene(uint32_t width, uint32_t height);

// A driver behind a wheel and an empty seat beside, as a camera under the mirror sees them.
Result<RgbImage> draw_cabin_scene(uint32_t width, uint32_t height);

// Both are the same on every call and refuse what make_image() refuses.

}  // namespace modeld
