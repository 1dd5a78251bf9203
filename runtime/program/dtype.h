// Element types of program tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace modeld {

enum class DType : uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kBool,  // one byte, 0 or 1
  // A whole NV12 camera frame. Opaque: only Warp reads it. Its geometry is not the program's but
  // the frame buffer's, given when a capture is recorded (warp/nv12_layout.h); its shape is {}.
  kNv12,
};

// Bytes of one element; 0 for kNv12.
size_t size_of(DType type);
bool is_float(DType type);  // kFloat32, kFloat64, kFloat16, kBFloat16

// "f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool",
// "nv12".
std::string_view to_string(DType type);
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace modeld
