#include "runtime/program/seeded_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/support/program_builder.h"

namespace modeld {
namespace {

// First outputs of the published generator for seed 1234567.
TEST(SeededInputs, SplitMixMatchesItsPublishedSequence) {
  SplitMix64 random(1234567);
  for (const uint64_t want : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                              4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(random.next(), want);
  }
}

TEST(SeededInputs, NormalHasMeanZeroAndDeviationOne) {
  SplitMix64 random(3);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.normal();
    EXPECT_LE(std::fabs(x), 6.0);
    sum += x;
    squares += x * x;
  }
  // Five standard errors.
  EXPECT_NEAR(sum / kCount, 0, 0.016);
  EXPECT_NEAR(squares / kCount, 1, 0.025);
}

std::vector<std::byte> filled(DType dtype, uint64_t seed, uint32_t stream, uint32_t step) {
  std::vector<std::byte> bytes(4096);
  fill_seeded(bytes, dtype, seed, stream, step);
  return bytes;
}

TEST(SeededInputs, SeedStreamAndStepEachMatter) {
  std::set<std::vector<std::byte>> seen;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    for (uint32_t stream = 0; stream < 4; ++stream) {
      for (uint32_t step = 0; step < 4; ++step) {
        const auto bytes = filled(DType::kFloat32, seed, stream, step);
        EXPECT_EQ(bytes, filled(DType::kFloat32, seed, stream, step));
        EXPECT_TRUE(seen.insert(bytes).second) << seed << " " << stream << " " << step;
      }
    }
  }
}

TEST(SeededInputs, RangesPerType) {
  const auto range = [](DType dtype) {
    const auto values = test::to_doubles(dtype, filled(dtype, 1, 0, 0));
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return std::pair{*low, *high};
  };
  const std::pair<double, double> byte{0, 255};
  const std::pair<double, double> small{0, 15};
  const std::pair<double, double> flag{0, 1};
  EXPECT_EQ(range(DType::kUInt8), byte);
  for (const DType dtype : {DType::kInt8, DType::kInt16, DType::kUInt16, DType::kInt32,
                            DType::kUInt32, DType::kInt64, DType::kUInt64}) {
    EXPECT_EQ(range(dtype), small) << to_string(dtype);
  }
  EXPECT_EQ(range(DType::kBool), flag);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    const auto [low, high] = range(dtype);
    EXPECT_LT(low, -2.0) << to_string(dtype);
    EXPECT_GT(high, 2.0) << to_string(dtype);
    EXPECT_LE(std::max(-low, high), 6.0) << to_string(dtype);
  }
  EXPECT_EQ(filled(DType::kNv12, 1, 0, 0), filled(DType::kUInt8, 1, 0, 0));
}

}  // namespace
}  // namespace modeld
