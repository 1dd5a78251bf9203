#include "tools/modelctl/latency_summary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace modeld::modelctl {
namespace {

double milliseconds(double nanoseconds) {
  return nanoseconds / kMillisecond;
}

// Nearest rank, in integers: 99.9 % is 999 per mille.
double percentile(const std::vector<Nanoseconds>& sorted, size_t per_mille) {
  constexpr size_t kWhole = 1000;
  const size_t rank = (sorted.size() * per_mille + kWhole - 1) / kWhole;
  return milliseconds(static_cast<double>(sorted[std::max<size_t>(rank, 1) - 1]));
}

}  // namespace

std::array<std::optional<Nanoseconds>, kPhaseCount> phase_durations(const ReplayReport& report) {
  std::array<std::optional<Nanoseconds>, kPhaseCount> durations;
  for (size_t i = 0; i < kPhaseCount; ++i) {
    const PhaseTimes& phase = report.phases[i];
    if (phase.ended > 0) durations[i] = phase.ended - phase.started;
  }
  const PhaseTimes& model = report.phases[static_cast<size_t>(Phase::kModel)];
  for (const Phase around : {Phase::kWarp, Phase::kHistory}) {
    const PhaseTimes& phase = report.phases[static_cast<size_t>(around)];
    const Nanoseconds shared =
        std::min(phase.ended, model.ended) - std::max(phase.started, model.started);
    if (phase.ended > 0 && model.ended > 0 && shared > 0) {
      *durations[static_cast<size_t>(around)] -= shared;
    }
  }
  return durations;
}

LatencySummary summarise(std::vector<Nanoseconds> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  LatencySummary summary;
  summary.mean = milliseconds(sum / static_cast<double>(samples.size()));
  summary.p50 = percentile(samples, 500);
  summary.p90 = percentile(samples, 900);
  summary.p99 = percentile(samples, 990);
  summary.p999 = percentile(samples, 999);
  summary.max = milliseconds(static_cast<double>(samples.back()));
  return summary;
}

}  // namespace modeld::modelctl
