#include "daemon/health/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "daemon/health/frame_phases.h"

namespace modeld {
namespace {

TEST(LatencyHistogram, EmptyIsAllZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.mean(), 0.0);
}

TEST(LatencyHistogram, SmallDurationsAreExact) {
  LatencyHistogram histogram;
  for (Nanoseconds value = 1; value <= 100; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile(0.5), 50);
  EXPECT_EQ(histogram.quantile(0.9), 90);
  EXPECT_EQ(histogram.quantile(0.99), 99);
  EXPECT_EQ(histogram.quantile(1.0), 100);
  EXPECT_EQ(histogram.quantile(0.0), 1);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
}

// Against sorting: never below the true quantile, never more than 1/64 above it.
TEST(LatencyHistogram, QuantilesAreWithinTheStatedErrorAtEveryScale) {
  uint64_t state = 88172645463325252u;
  for (const double scale : {1e3, 1e5, 1e7, 1e9, 1e11}) {
    LatencyHistogram histogram;
    std::vector<Nanoseconds> values;
    for (int i = 0; i < 5000; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const double uniform = static_cast<double>(state >> 11) * 0x1.0p-53;
      values.push_back(std::llround(scale * uniform * uniform));
      histogram.record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<size_t>(std::ceil(fraction * 5000)) - 1;
      const Nanoseconds truth = values[rank];
      const Nanoseconds got = histogram.quantile(fraction);
      EXPECT_GE(got, truth);
      EXPECT_LE(static_cast<double>(got), static_cast<double>(truth) * (1 + 1.0 / 64) + 1);
    }
    EXPECT_EQ(histogram.max(), values.back());
  }
}

TEST(LatencyHistogram, ExtremesStayInBounds) {
  LatencyHistogram histogram;
  histogram.record(-5);
  histogram.record(std::numeric_limits<Nanoseconds>::max());
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_EQ(histogram.quantile(1.0), LatencyHistogram::kLargest);
  EXPECT_EQ(histogram.max(), std::numeric_limits<Nanoseconds>::max());
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(1.0), 0);
}

// Field fault 17: two 70 ms calls among 1000 of 2 ms must be visible.
TEST(FieldFault17, TheTailIsVisibleAndMissesAreCounted) {
  PhaseStatistics statistics(50 * kMillisecond);
  int missed = 0;
  for (int i = 0; i < 1000; ++i) {
    FrameTimes times;
    times[FramePhase::kTotal] = (i == 300 || i == 700 ? 70 : 2) * kMillisecond;
    times[FramePhase::kModel] = times[FramePhase::kTotal];
    if (statistics.record(times)) ++missed;
  }
  EXPECT_EQ(missed, 2);
  EXPECT_EQ(statistics.deadline_misses(), 2u);
  const LatencySummary model = summarise(statistics.histogram(FramePhase::kModel));
  EXPECT_EQ(model.count, 1000u);
  EXPECT_NEAR(model.p50_ms, 2, 2.0 / 64);
  EXPECT_NEAR(model.p99_ms, 2, 2.0 / 64);
  EXPECT_NEAR(model.p999_ms, 70, 70.0 / 64);
  EXPECT_DOUBLE_EQ(model.max_ms, 70);
  EXPECT_LT(model.mean_ms, 2.2);
  // A phase that never happened says so instead of showing zeros as measurements.
  EXPECT_EQ(summarise(statistics.histogram(FramePhase::kPairing)).count, 0u);
}

}  // namespace
}  // namespace modeld
