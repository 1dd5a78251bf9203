// Latency of many runs in few numbers.
#pragma once

#include <vector>

#include "runtime/base/clock.h"

namespace modeld::modelctl {

// Milliseconds. A percentile is the smallest sample that at least that share of all samples does
// not exceed (nearest rank): always a time that really occurred.
struct LatencySummary {
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

// All zero for no samples.
LatencySummary summarise(std::vector<Nanoseconds> samples);

}  // namespace modeld::modelctl
