// A picture in three planes, as decoders give it, into a camera's frame buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/result.h"
#include "warp/nv12_layout.h"

namespace modeld::replay {

// Planes of a 4:2:0 picture; `v` null: `u` holds interleaved U, V pairs. Strides in bytes.
// Borrowed.
struct YuvPicture {
  uint32_t width = 0;
  uint32_t height = 0;
  const uint8_t* y = nullptr;
  const uint8_t* u = nullptr;
  const uint8_t* v = nullptr;
  int y_stride = 0;
  int u_stride = 0;
  int v_stride = 0;
};

// The bytes as they are where the sizes agree; scaled (bilinear) where not. Padding is left alone.
Status write_nv12(const YuvPicture& picture, const Nv12Layout& layout, std::span<std::byte> frame);

// The planes of an NV12 buffer whose layout has been checked.
YuvPicture view_nv12(const Nv12Layout& layout, std::span<const std::byte> frame);

}  // namespace modeld::replay
