// Where the pixels of an NV12 frame lie in a buffer. Sources: interoperability facts 6.5 (geometry
// rule) and 1.4 (buffer records carry stride and chroma offset, which are the truth).
#pragma once

#include <cstdint>

#include "runtime/base/result.h"

namespace modeld {

// Largest width or height accepted; far above any camera, far below where products overflow.
constexpr uint32_t kMaxNv12Side = 16384;

// `height` luma rows at pitch `stride`, then `height / 2` rows of interleaved U, V pairs at the
// same pitch from `uv_offset`. Only the first `width` bytes of a row are pixels; the last chroma
// row may end right after them. All sizes in bytes or pixels (one luma pixel is one byte).
struct Nv12Layout {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t stride = 0;
  uint64_t uv_offset = 0;
  uint64_t length = 0;  // of the whole buffer

  // From numbers a peer sent: range-checked, then check()ed.
  static Result<Nv12Layout> from_wire(uint64_t width, uint64_t height, uint64_t stride,
                                      uint64_t uv_offset, uint64_t length);

  // The layout openpilot's camera server gives a `width` x `height` buffer.
  static Result<Nv12Layout> openpilot(uint32_t width, uint32_t height);

  // Names the first of width, height, stride, rows, offset and length that cannot be right, with
  // what was expected and found. Every reader of pixels may rely on a checked layout.
  Status check() const;

  // Bytes from the start of the buffer to the end of the last chroma pixel (checked layouts only).
  uint64_t bytes_in_use() const {
    return uv_offset + static_cast<uint64_t>(stride) * (height / 2 - 1) + width;
  }

  // The layout of a copy of the frame: nothing of the buffer behind its rows. With openpilot's
  // geometry `length` is then stride times all rows of luma and chroma, padding rows included
  // (facts 6.5, copy size: 2048 x 1824 bytes for 1928x1208). Checked layouts only.
  Nv12Layout copied() const;

  bool operator==(const Nv12Layout&) const = default;
};

// The aligned geometry behind Nv12Layout::openpilot: rows are padded too.
struct Nv12Geometry {
  uint32_t stride = 0;
  uint32_t y_height = 0;
  uint32_t uv_height = 0;
  uint64_t size = 0;  // of the allocation
};

// Facts 6.5. Sizes must be even and at most kMaxNv12Side.
Result<Nv12Geometry> openpilot_nv12_geometry(uint32_t width, uint32_t height);

}  // namespace modeld
