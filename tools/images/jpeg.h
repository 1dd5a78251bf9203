// JPEG decoding for image_file.cpp.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/base/result.h"
#include "tools/images/rgb_image.h"

namespace modeld {

// `file` begins with a JPEG start-of-image marker. Errors as decode_image().
Result<RgbImage> decode_jpeg(std::span<const std::byte> file);

}  // namespace modeld
