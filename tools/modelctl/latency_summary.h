// Latency of many runs in few numbers.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/device/capture.h"

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

// How long each phase of a replay took, by Phase; nothing for phases without steps. Steps of the
// history surround the model's: what they share counts as the model's, so that the sum is no more
// than the whole.
std::array<std::optional<Nanoseconds>, kPhaseCount> phase_durations(const ReplayReport& report);

// All zero for no samples.
LatencySummary summarise(std::vector<Nanoseconds> samples);

}  // namespace modeld::modelctl
