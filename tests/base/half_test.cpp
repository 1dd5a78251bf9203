#include "runtime/base/half.h"

#include <gtest/gtest.h>
#if defined(__clang__) && defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>
#include <limits>

namespace modeld {
namespace {

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      ASSERT_EQ(float_to_half(value), bits) << value;
    }
  }
}

// The compiler's own conversion is the independent source.
#if defined(__clang__) && defined(__x86_64__)
// Clang 14 knows _Float16 on x86 only for processors that compute with it; all convert.
__attribute__((target("f16c"))) uint16_t compilers_half(float value) {
  return static_cast<uint16_t>(
      _mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT)));
}
#else
uint16_t compilers_half(float value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}
#endif

TEST(Half, RoundsLikeTheCompiler) {
  uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float value = std::bit_cast<float>(state);
    if (std::isnan(value)) continue;
    const auto expected = compilers_half(value);
    ASSERT_EQ(float_to_half(value), expected) << value;
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(float_to_half(65504.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);  // half way to the next: even is infinity
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
  EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0f, -24));
}

TEST(Bfloat, RoundsTiesToEvenAndKeepsNan) {
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_TRUE(
      std::isnan(bfloat_to_float(float_to_bfloat(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace modeld
