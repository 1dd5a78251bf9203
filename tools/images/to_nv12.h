// Pictures into camera frame buffers.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "tools/images/rgb_image.h"
#include "warp/nv12_layout.h"

namespace modeld {

// Full-range BT.601 (the JPEG convention), chroma the mean of four pixels. The picture's size must
// be the layout's and `frame` at least layout.bytes_in_use() long; padding is left as it was.
// kInvalidArgument otherwise, naming what differs. Thread-safe on different frames.
Status to_nv12(const RgbImage& image, const Nv12Layout& layout, std::span<uint8_t> frame);

}  // namespace modeld
