#include "runtime/cpu/convert.h"

#include <bit>

#include "runtime/cpu/simd.h"

namespace modeld::cpu {
namespace {

// The functions of half.h without branches or loops, so that rows become vector code.

MODELD_ALWAYS_INLINE inline float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffu) << 13;
  // Times 2^112 puts the exponent right and makes normal numbers of subnormal ones.
  const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | special | sign);
}

MODELD_ALWAYS_INLINE inline float from_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

MODELD_ALWAYS_INLINE inline uint16_t to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 0.5 moves a number below 2^-14 so that its last kept bit is the sum's last bit.
  const float shifted = std::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x47800000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? nan : result;
  return static_cast<uint16_t>(sign | result);
}

MODELD_ALWAYS_INLINE inline uint16_t to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

}  // namespace

void widen(DType type, const uint16_t* from, float* to, size_t count) {
  if (type == DType::kFloat16) {
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (size_t i = 0; i < count; ++i) to[i] = from_half(from[i]);
    });
  } else {
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (size_t i = 0; i < count; ++i) to[i] = from_bfloat(from[i]);
    });
  }
}

void narrow(DType type, const float* from, uint16_t* to, size_t count) {
  if (type == DType::kFloat16) {
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (size_t i = 0; i < count; ++i) to[i] = to_half(from[i]);
    });
  } else {
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (size_t i = 0; i < count; ++i) to[i] = to_bfloat(from[i]);
    });
  }
}

void round_to(DType type, const float* from, float* to, size_t count) {
  if (type == DType::kFloat16) {
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (size_t i = 0; i < count; ++i) to[i] = from_half(to_half(from[i]));
    });
  } else {
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (size_t i = 0; i < count; ++i) to[i] = from_bfloat(to_bfloat(from[i]));
    });
  }
}

}  // namespace modeld::cpu
