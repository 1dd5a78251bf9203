// Durations in fixed memory: log-linear buckets, exact count, sum and maximum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/base/clock.h"

namespace modeld {

// Every power of two is cut into kSubBuckets equal parts, so a quantile is never below the true one
// and at most 1/kSubBuckets (1.6 %) above it; below kSubBuckets ns it is exact. Durations above
// kLargest count as kLargest in the quantiles (about 137 s). Allocates nothing. Not thread-safe.
class LatencyHistogram {
 public:
  static constexpr uint64_t kSubBuckets = 64;
  static constexpr int kLargestExponent = 36;
  static constexpr Nanoseconds kLargest = (Nanoseconds{1} << (kLargestExponent + 1)) - 1;

  // Negative durations (a clock of another machine) count as 0.
  void record(Nanoseconds duration);
  void clear();

  uint64_t count() const { return count_; }
  Nanoseconds max() const { return max_; }
  double mean() const;  // ns; 0 when empty
  // Smallest bucket bound that at least `fraction` (0 to 1) of the durations do not exceed, capped
  // by the maximum; 0 when empty.
  Nanoseconds quantile(double fraction) const;

 private:
  static constexpr int kSubBits = 6;
  static_assert(uint64_t{1} << kSubBits == kSubBuckets);
  static constexpr size_t kBuckets = (kLargestExponent - kSubBits + 2) * kSubBuckets;

  static size_t bucket_of(uint64_t value);
  static uint64_t upper_bound(size_t bucket);

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  double sum_ = 0;
  Nanoseconds max_ = 0;
};

// What is said about a histogram everywhere it is shown, ms.
struct LatencySummary {
  uint64_t count = 0;
  double mean_ms = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
  double p999_ms = 0;
  double max_ms = 0;
};
LatencySummary summarise(const LatencyHistogram& histogram);

}  // namespace modeld
