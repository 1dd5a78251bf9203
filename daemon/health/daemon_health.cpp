#include "daemon/health/daemon_health.h"

namespace modeld {

void DaemonHealth::answered(const FrameTimes& times, InvalidReason reason, Nanoseconds now,
                            HealthReason concern) {
  frames.answer(reason);
  const bool missed = phases.record(times);
  flight.note({times.frame_id, reason, missed, now, times});
  if (reason == InvalidReason::kNone) {
    const FrameWaits waits{times[FramePhase::kCpuWait],
                           device.on_host ? 0 : times[FramePhase::kQueue]};
    state.frame_answered(times[FramePhase::kTotal] - times[FramePhase::kPairing], now, concern,
                         waits);
    return;
  }
  state.frame_failed(health_reason(reason), now);
  if (reason == InvalidReason::kDeadline) state.stalled(HealthReason::kDeadlineMissed, now);
}

void DaemonHealth::took_over(std::string_view why, Nanoseconds now) {
  fallback_text = why;
  state.set_standing(HealthReason::kRunningOnFallback, now);
}

void DaemonHealth::dropped(DropReason reason, Nanoseconds now) {
  frames.drop(reason);
  state.frame_failed(health_reason(reason), now);
}

}  // namespace modeld
