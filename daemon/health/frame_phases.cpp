#include "daemon/health/frame_phases.h"

namespace modeld {

std::string_view to_string(FramePhase phase) {
  constexpr std::array<std::string_view, kFramePhaseCount> kNames = {
      "cameraToReceive", "pairing", "upload",  "queue", "warp",   "model",
      "download",        "parse",   "publish", "total", "cpuWait"};
  return kNames[static_cast<size_t>(phase)];
}

bool is_waiting(FramePhase phase) {
  return phase == FramePhase::kCameraToReceive || phase == FramePhase::kPairing ||
         phase == FramePhase::kQueue || phase == FramePhase::kCpuWait;
}

bool PhaseStatistics::record(const FrameTimes& times) {
  for (size_t i = 0; i < kFramePhaseCount; ++i) {
    if (times.duration[i] != 0) histograms_[i].record(times.duration[i]);
  }
  const bool missed = times[FramePhase::kTotal] > frame_budget_;
  if (missed) ++deadline_misses_;
  return missed;
}

}  // namespace modeld
