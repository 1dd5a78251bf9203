// One element from a float to a small integer.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/base/half.h"
#include "runtime/cpu/simd.h"
#include "runtime/cpu/vector_math.h"
#include "runtime/program/dtype.h"

namespace modeld::cpu {

// The quotient as the type that it is rounded to first. Two halves have so few bits that rounding
// their quotient to float32 on the way changes nothing.
struct AsFloat {
  static MODELD_ALWAYS_INLINE float round(float quotient) { return quotient; }
};
struct AsHalf {
  static MODELD_ALWAYS_INLINE float round(float quotient) {
    return half_to_float(float_to_half(quotient));
  }
};
struct AsBFloat {
  static MODELD_ALWAYS_INLINE float round(float quotient) {
    return bfloat_to_float(float_to_bfloat(quotient));
  }
};

template <typename T, typename Quotient>
MODELD_ALWAYS_INLINE inline T quantised(float x, float scale, float zero) {
  const float value = std::rint(Quotient::round(x / scale)) + zero;
  const float bounded = math::clamp(value, static_cast<float>(std::numeric_limits<T>::min()),
                                    static_cast<float>(std::numeric_limits<T>::max()));
  // NaN becomes 0, as in every conversion to an integer here.
  return static_cast<T>(static_cast<int32_t>(math::choose(value != value, 0.0f, bounded)));
}

// Rows by one scale and zero point. Everything is a local: a store to a byte may change any object
// that is not, and the loops would not become vector code.
template <typename T, typename Quotient>
MODELD_ALWAYS_INLINE inline void quantise_row(const float* x, float scale, float zero, T* out,
                                              int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = quantised<T, Quotient>(x[i], scale, zero);
}

template <typename T>
MODELD_ALWAYS_INLINE inline void dequantise_row(const T* x, float scale, int32_t zero, float* out,
                                                int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(static_cast<int32_t>(x[i]) - zero) * scale;
  }
}

// The type to which QuantizeLinear of `x` by `scale` rounds the quotient.
inline DType quotient_type(DType x, DType scale) {
  return size_of(x) > size_of(scale) ? x : scale;
}

}  // namespace modeld::cpu
