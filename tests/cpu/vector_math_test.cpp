// The elementary functions of the vector loops against double precision, over their whole range.
#include "runtime/cpu/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/half.h"
#include "runtime/cpu/convert.h"

namespace modeld::cpu {
namespace {

// Distance in units of the last place of the exact result, worst over [low, high].
template <typename Function, typename Exact>
double worst_ulp(Function function, Exact exact, double low, double high) {
  constexpr int kSteps = 200'000;
  double worst = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const auto x = static_cast<float>(low + (high - low) * i / kSteps);
    const double want = exact(static_cast<double>(x));
    const auto rounded = std::fabs(static_cast<float>(want));
    const double ulp = std::max<double>(std::nextafter(rounded, math::kInfinity) - rounded, 1e-45);
    worst = std::max(worst, std::fabs(static_cast<double>(function(x)) - want) / ulp);
  }
  return worst;
}

double exact_gelu(double x) {
  return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
}

TEST(VectorMath, Accuracy) {
  const auto exp = [](double x) { return std::exp(x); };
  EXPECT_LT(worst_ulp([](float x) { return math::exp(x); }, exp, -103, 88.7), 1.5);
  EXPECT_LT(worst_ulp([](float x) { return math::expm1(x); },
                      [](double x) { return std::expm1(x); }, -20, 20),
            4);
  EXPECT_LT(worst_ulp([](float x) { return math::sigmoid(x); },
                      [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 20),
            4);
  EXPECT_LT(worst_ulp([](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); },
                      -12, 12),
            4);
  const auto log = [](double x) { return std::log(x); };
  EXPECT_LT(worst_ulp([](float x) { return math::log(x); }, log, 1e-3, 4), 1.5);
  EXPECT_LT(worst_ulp([](float x) { return math::log(x); }, log, 4, 1e30), 1.5);
  EXPECT_LT(worst_ulp([](float x) { return math::softplus(x); },
                      [](double x) { return std::log1p(std::exp(x)); }, -80, 80),
            4);
  EXPECT_LT(
      worst_ulp([](float x) { return math::erf(x); }, [](double x) { return std::erf(x); }, -5, 5),
      2);
  EXPECT_LT(worst_ulp([](float x) { return math::gelu(x); }, exact_gelu, -1, 8), 4);
}

// In the far tail the product x * Q(x) is tiny; what counts is the distance from x's scale.
TEST(VectorMath, GeluTail) {
  for (double x = -20; x < -1; x += 0.001) {
    const auto single = static_cast<float>(x);
    EXPECT_NEAR(math::gelu(single), exact_gelu(single), 1e-7) << x;
  }
}

TEST(VectorMath, SpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(math::exp(math::kInfinity), math::kInfinity);
  EXPECT_EQ(math::exp(-math::kInfinity), 0.0f);
  EXPECT_EQ(math::exp(89.0f), math::kInfinity);
  EXPECT_EQ(math::log(0.0f), -math::kInfinity);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_EQ(math::tanh(math::kInfinity), 1.0f);
  EXPECT_EQ(math::tanh(-math::kInfinity), -1.0f);
  EXPECT_TRUE(std::signbit(math::tanh(-0.0f)));
  EXPECT_EQ(math::erf(-math::kInfinity), -1.0f);
  EXPECT_EQ(math::sigmoid(-math::kInfinity), 0.0f);
  EXPECT_EQ(math::softplus(math::kInfinity), math::kInfinity);
  EXPECT_EQ(math::gelu(math::kInfinity), math::kInfinity);
  for (const float result :
       {math::exp(nan), math::log(nan), math::tanh(nan), math::erf(nan), math::sigmoid(nan),
        math::softplus(nan), math::gelu(nan), math::clamp(nan, 0.0f, 1.0f)}) {
    EXPECT_TRUE(std::isnan(result));
  }
}

// Every half there is, and every float near one, against the scalar conversions.
TEST(Convert, EqualsTheScalarConversions) {
  for (const DType type : {DType::kFloat16, DType::kBFloat16}) {
    const bool half = type == DType::kFloat16;
    std::vector<uint16_t> bits(65536);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
    std::vector<float> wide(bits.size());
    widen(type, bits.data(), wide.data(), bits.size());
    std::vector<float> near;
    for (size_t i = 0; i < bits.size(); ++i) {
      const float want = half ? half_to_float(bits[i]) : bfloat_to_float(bits[i]);
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(want)) << i;
      const uint32_t exact = std::bit_cast<uint32_t>(want);
      for (const uint32_t step : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
        near.push_back(std::bit_cast<float>(exact + step));
      }
    }
    std::vector<uint16_t> narrowed(near.size());
    narrow(type, near.data(), narrowed.data(), near.size());
    for (size_t i = 0; i < near.size(); ++i) {
      const uint16_t want = half ? float_to_half(near[i]) : float_to_bfloat(near[i]);
      ASSERT_EQ(narrowed[i], want) << std::bit_cast<uint32_t>(near[i]);
    }
  }
}

}  // namespace
}  // namespace modeld::cpu
