#include "daemon/health/daemon_health.h"

namespace modeld {

void DaemonHealth::answered(const FrameTimes& times, InvalidReason reason, Nanoseconds now,
                            HealthReason concern) {
  frames.answer(reason);
  phases.record(times);
  if (reason == InvalidReason::kNone) {
    state.frame_answered(times[FramePhase::kTotal] - times[FramePhase::kPairing], now, concern);
    return;
  }
  state.frame_failed(health_reason(reason), now);
  if (reason == InvalidReason::kDeadline) state.stalled(HealthReason::kDeadlineMissed, now);
}

void DaemonHealth::dropped(DropReason reason, Nanoseconds now) {
  frames.drop(reason);
  state.frame_failed(health_reason(reason), now);
}

}  // namespace modeld
