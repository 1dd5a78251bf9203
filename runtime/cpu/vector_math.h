// Elementary functions in float32, without branches, so that loops over them become vector code.
//
// Each carries its method; all were compared with double precision over their whole range
// (tests/cpu/vector_math_test.cpp states the bounds in units in the last place).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/cpu/simd.h"

namespace modeld::cpu::math {

#define MODELD_MATH MODELD_ALWAYS_INLINE inline float

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// `condition ? a : b` on values already computed: stays a blend.
MODELD_MATH choose(bool condition, float a, float b) {
  return condition ? a : b;
}

// NaN stays.
MODELD_MATH clamp(float x, float low, float high) {
  const float raised = choose(x < low, low, x);
  return choose(raised > high, high, raised);
}

// 2^n for integral n in [-252, 254] in two factors, so that results may be subnormal.
MODELD_MATH scale_by_power(float value, int32_t n) {
  const int32_t half = n >> 1;
  const float low = std::bit_cast<float>((half + 127) << 23);
  const float high = std::bit_cast<float>((n - half + 127) << 23);
  return value * low * high;
}

// e^x. Cody-Waite reduction to |r| <= ln(2)/2, then the Taylor terms to r^7 in Horner form.
MODELD_MATH exp(float x) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;    // 10 bits: n * kLn2High is exact
  constexpr float kLn2Low = -2.12194440e-4f;  // ln 2 - kLn2High
  constexpr float kRound = 12582912.0f;       // 1.5 * 2^23: adding it rounds to an integer
  const float bounded = choose(x > 89.0f, 89.0f, choose(x < -104.0f, -104.0f, x));
  const float shifted = bounded * kLog2e + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const float result = scale_by_power(p, exponent);
  return choose(x > 88.7228394f, kInfinity, result) + choose(x != x, x, 0.0f);
}

// e^x - 1 without cancellation near 0: Taylor below |x| = 0.35, else exp(x) - 1.
MODELD_MATH expm1(float x) {
  const float r = choose(std::fabs(x) < 0.35f, x, 0.0f);
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  return choose(std::fabs(x) < 0.35f, p, exp(x) - 1.0f);
}

// e^-a for a >= 0: as exp(), but the result cannot overflow, and below 2^-126 it is 0.
MODELD_MATH exp_minus(float a) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;
  constexpr float kLast = 87.0f;
  const float x = choose(a < kLast, -a, -kLast);
  const float shifted = x * kLog2e + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  return choose(a < kLast, p * std::bit_cast<float>((exponent + 127) << 23), 0.0f);
}

// With t = e^-|x|: 1 / (1 + t) on the right, t / (1 + t) on the left. NaN stays.
MODELD_MATH sigmoid(float x) {
  const float t = exp_minus(std::fabs(x));
  return choose(x != x, x, choose(x < 0.0f, t, 1.0f) / (1.0f + t));
}

// sign(x) * (1 - 2 / (e^2|x| + 1)); below 0.35 by way of expm1, where 1 - ... would cancel.
MODELD_MATH tanh(float x) {
  const float a = std::fabs(x);
  const float e = expm1(2.0f * choose(a > 20.0f, 20.0f, a));
  const float t = e / (e + 2.0f);
  return choose(x != x, x, std::copysign(choose(a > 20.0f, 1.0f, t), x));
}

// Natural logarithm: x = 2^k m, m in [sqrt(1/2), sqrt(2)), log(m) = 2 atanh((m-1)/(m+1)).
MODELD_MATH log(float x) {
  constexpr float kLn2High = 0.693359375f;
  constexpr float kLn2Low = -2.12194440e-4f;
  const bool subnormal = x < std::numeric_limits<float>::min();
  const float scaled = choose(subnormal, x * 8388608.0f, x);
  const int32_t bits = std::bit_cast<int32_t>(scaled);
  const int32_t k = (bits - 0x3f3504f3) >> 23;
  const float m = std::bit_cast<float>(bits - (k << 23));
  const float f = m - 1.0f;
  const float s = f / (f + 2.0f);
  const float z = s * s;
  float p = 2.0f / 9.0f;
  p = p * z + 2.0f / 7.0f;
  p = p * z + 2.0f / 5.0f;
  p = p * z + 2.0f / 3.0f;
  p = p * z;
  const float half_square = 0.5f * f * f;
  const float n = static_cast<float>(k) - choose(subnormal, 23.0f, 0.0f);
  // log(1+f) = f - f^2/2 + s (f^2/2 + p): the large terms stay exact.
  const float tail = s * (half_square + p) + n * kLn2Low;
  const float value = n * kLn2High - ((half_square - tail) - f);
  const float edge = choose(x == 0.0f, -kInfinity, std::numeric_limits<float>::quiet_NaN());
  return choose(x > 0.0f, choose(x == kInfinity, kInfinity, value), edge);
}

// log(1 + e^x) = max(x, 0) + log1p(e^-|x|); log1p(t) for t in (0, 1] by log(u) t / (u - 1) with
// u = 1 + t rounded, which cancels the rounding of the sum.
MODELD_MATH softplus(float x) {
  const float t = exp(-std::fabs(x));
  const float u = 1.0f + t;
  const float ratio = t / choose(u == 1.0f, 1.0f, u - 1.0f);
  const float log1p = choose(u == 1.0f, t, log(u) * ratio);
  return choose(x > 0.0f, x, 0.0f) + log1p + choose(x != x, x, 0.0f);
}

// Near 0, x times a polynomial in x^2 (Chebyshev interpolation of erf(x)/x on [0, 0.95]); beyond,
// 1 - exp(-p(x)) with p interpolating -log(erfc(x)) on [0.9, 4], where float erf becomes 1.
MODELD_MATH erf(float x) {
  const float a = std::fabs(x);
  const float s = choose(a < 0.93f, a * a, 0.0f);
  float near = 8.21278053e-05f;
  near = near * s - 8.10505451e-04f;
  near = near * s + 5.19768491e-03f;
  near = near * s - 2.68580425e-02f;
  near = near * s + 1.12836710e-01f;
  near = near * s - 3.76126322e-01f;
  near = a + a * (0.128379167f + near * s);
  const float b = choose(a < 4.0f, a, 4.0f);
  float far = -1.64306366e-06f;
  far = far * b + 4.61638586e-05f;
  far = far * b - 5.97585770e-04f;
  far = far * b + 4.76262583e-03f;
  far = far * b - 2.64276372e-02f;
  far = far * b + 1.10087166e-01f;
  far = far * b + 6.31823918e-01f;
  far = far * b + 1.13023106e+00f;
  far = far * b - 3.18539662e-04f;
  far = 1.0f - exp(-far);
  return choose(x != x, x, std::copysign(choose(a < 0.93f, near, far), x));
}

// x/2 (1 + erf(x / sqrt 2)) = max(x, 0) - |x| Q(|x|) with the normal tail Q(a) = 2^-(1 + a p(a)),
// p interpolating -log2(2 Q(a)) / a on [0, 5.7]. Nothing cancels, so the tail is right too.
MODELD_MATH gelu(float x) {
  const float a = std::fabs(x);
  const float b = choose(a < 5.7f, a, 5.7f);
  float p = 2.283197e-08f;
  p = p * b - 7.06418890e-07f;
  p = p * b + 9.36605754e-06f;
  p = p * b - 6.74653988e-05f;
  p = p * b + 2.50571478e-04f;
  p = p * b + 5.44465948e-05f;
  p = p * b - 7.00293195e-03f;
  p = p * b + 5.24693448e-02f;
  p = p * b + 4.59215630e-01f;
  p = p * b + 1.15110434e+00f;
  constexpr float kRound = 12582912.0f;
  const float y = -(p * b);
  const float shifted = y + kRound;
  const float r = (y - (shifted - kRound)) * 0.693147181f;
  float q = 1.0f / 720.0f;
  q = q * r + 1.0f / 120.0f;
  q = q * r + 1.0f / 24.0f;
  q = q * r + 1.0f / 6.0f;
  q = q * r + 0.5f;
  q = q * r + 1.0f;
  q = q * r + 1.0f;
  // y >= -27 here, so one exponent field is enough; 126 and not 127 is the half in 2^-(1 + ...).
  const int32_t n = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const float tail = q * std::bit_cast<float>((n + 126) << 23);
  const float below = choose(a < 5.7f, a * tail, 0.0f);
  // As the formula has it, minus infinity times zero is no number.
  return choose(x > 0.0f, x, 0.0f) - below + 0.0f * choose(x > 0.0f, 0.0f, x);
}

// x/2 (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3)
MODELD_MATH gelu_tanh(float x) {
  return x * sigmoid(1.59576912f * (x + 0.044715f * x * x * x));
}

MODELD_MATH silu(float x) {
  return x * sigmoid(x);
}

#undef MODELD_MATH

}  // namespace modeld::cpu::math
