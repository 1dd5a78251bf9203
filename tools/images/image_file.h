// Picture files: PNG and JPEG in, PNG out. Files are hostile until decoded.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "tools/images/rgb_image.h"

namespace modeld {

constexpr uint64_t kMaxImageFileBytes = uint64_t{256} << 20;

// Kind by content, never by name. Grey and palette pictures become RGB, 16-bit samples 8-bit,
// transparency is laid over black. kCorrupt: damaged or cut short; kRefused: larger than the
// limits of rgb_image.h; kUnsupported: neither PNG nor JPEG.
Result<RgbImage> decode_image(std::span<const std::byte> file);

// decode_image() of a file of at most kMaxImageFileBytes; errors carry the path.
Result<RgbImage> load_image(const std::filesystem::path& path);

// Replaces `path` atomically.
Status save_png(const std::filesystem::path& path, const RgbImage& image);

}  // namespace modeld
