#include "daemon/health/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace modeld {

size_t LatencyHistogram::bucket_of(uint64_t value) {
  if (value < kSubBuckets) return value;
  const int shift = std::bit_width(value) - 1 - kSubBits;
  // value >> shift lies in [kSubBuckets, 2 * kSubBuckets).
  return static_cast<size_t>(shift) * kSubBuckets + (value >> shift);
}

uint64_t LatencyHistogram::upper_bound(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const uint64_t shift = bucket / kSubBuckets - 1;
  const uint64_t mantissa = bucket - shift * kSubBuckets;
  return ((mantissa + 1) << shift) - 1;
}

void LatencyHistogram::record(Nanoseconds duration) {
  const Nanoseconds counted = std::max<Nanoseconds>(duration, 0);
  ++buckets_[bucket_of(static_cast<uint64_t>(std::min(counted, kLargest)))];
  ++count_;
  sum_ += static_cast<double>(counted);
  max_ = std::max(max_, counted);
}

void LatencyHistogram::clear() {
  *this = LatencyHistogram();
}

double LatencyHistogram::mean() const {
  return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
}

Nanoseconds LatencyHistogram::quantile(double fraction) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::max<uint64_t>(1, static_cast<uint64_t>(wanted));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) return std::min(static_cast<Nanoseconds>(upper_bound(bucket)), max_);
  }
  return max_;
}

LatencySummary summarise(const LatencyHistogram& histogram) {
  const auto ms = [](double nanoseconds) { return nanoseconds / kMillisecond; };
  const auto at = [&](double fraction) {
    return ms(static_cast<double>(histogram.quantile(fraction)));
  };
  return {histogram.count(),
          ms(histogram.mean()),
          at(0.5),
          at(0.9),
          at(0.99),
          at(0.999),
          ms(static_cast<double>(histogram.max()))};
}

}  // namespace modeld
