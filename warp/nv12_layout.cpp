#include "warp/nv12_layout.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "runtime/base/checked.h"

namespace modeld {
namespace {

Error field_error(std::string_view field, std::string_view what, std::string expected,
                  std::string found) {
  std::string message = "NV12 ";
  message.append(field).append(": ").append(what);
  return Error(ErrorCode::kInvalidArgument, std::move(message))
      .expecting(std::move(expected), std::move(found));
}

Status check_side(std::string_view field, uint64_t value) {
  if (value == 0 || value % 2 != 0) {
    return field_error(field, "must be even and not zero (chroma has half the resolution)",
                       "an even number of pixels", std::to_string(value));
  }
  if (value > kMaxNv12Side) {
    return field_error(field, "is larger than any camera",
                       "at most " + std::to_string(kMaxNv12Side), std::to_string(value));
  }
  return {};
}

std::string at_least(uint64_t value) {
  return "at least " + std::to_string(value);
}

}  // namespace

Result<Nv12Layout> Nv12Layout::from_wire(uint64_t width, uint64_t height, uint64_t stride,
                                         uint64_t uv_offset, uint64_t length) {
  MODELD_TRY(check_side("width", width));
  MODELD_TRY(check_side("height", height));
  constexpr uint64_t kMaxStride = std::numeric_limits<uint32_t>::max();
  if (stride > kMaxStride) {
    return field_error("stride", "is out of range", "at most " + std::to_string(kMaxStride),
                       std::to_string(stride));
  }
  const Nv12Layout layout{static_cast<uint32_t>(width), static_cast<uint32_t>(height),
                          static_cast<uint32_t>(stride), uv_offset, length};
  MODELD_TRY(layout.check());
  return layout;
}

Result<Nv12Layout> Nv12Layout::openpilot(uint32_t width, uint32_t height) {
  MODELD_ASSIGN(const Nv12Geometry geometry, openpilot_nv12_geometry(width, height));
  return Nv12Layout{width, height, geometry.stride,
                    static_cast<uint64_t>(geometry.stride) * geometry.y_height, geometry.size};
}

Nv12Layout Nv12Layout::copied() const {
  constexpr uint64_t kChromaRows = 16;  // chroma rows come in multiples of it
  const uint64_t rows = (height / 2 + kChromaRows - 1) / kChromaRows * kChromaRows;
  Nv12Layout copy = *this;
  copy.length = std::min(length, uv_offset + stride * rows);
  return copy;
}

Status Nv12Layout::check() const {
  MODELD_TRY(check_side("width", width));
  MODELD_TRY(check_side("height", height));
  if (stride < width) {
    return field_error("stride", "is shorter than a row of pixels", at_least(width) + " bytes",
                       std::to_string(stride) + " bytes");
  }
  if (uv_offset >= length) {
    return field_error("offset", "the chroma plane starts behind the buffer's end",
                       "less than the length of " + std::to_string(length) + " bytes",
                       std::to_string(uv_offset) + " bytes");
  }
  if (uv_offset / stride < height) {
    return field_error(
        "rows", "too few luma rows before the chroma plane",
        at_least(height) + " rows of " + std::to_string(stride) + " bytes",
        std::to_string(uv_offset / stride) + " rows before offset " + std::to_string(uv_offset));
  }
  const uint64_t chroma = static_cast<uint64_t>(stride) * (height / 2 - 1) + width;
  if (!range_fits(uv_offset, chroma, length)) {
    const auto needed = checked_add(uv_offset, chroma);
    return field_error("length", "the buffer ends before the last chroma row does",
                       needed ? at_least(*needed) + " bytes" : "a size that does not overflow",
                       std::to_string(length) + " bytes");
  }
  return {};
}

Result<Nv12Geometry> openpilot_nv12_geometry(uint32_t width, uint32_t height) {
  MODELD_TRY(check_side("width", width));
  MODELD_TRY(check_side("height", height));
  const uint64_t stride = align_up(width, 128);
  const uint64_t y_height = align_up(height, 32);
  const uint64_t uv_height = align_up(height / 2, 16);
  const uint64_t extra = 4096 + std::max<uint64_t>(16384, 8 * stride);
  uint64_t size = align_up(stride * y_height + stride * uv_height + extra, 4096);
  size = align_up(size + align_up(width, 512) * 512, 4096);
  return Nv12Geometry{static_cast<uint32_t>(stride), static_cast<uint32_t>(y_height),
                      static_cast<uint32_t>(uv_height), size};
}

}  // namespace modeld
