#include "daemon/health/health_state.h"

#include <utility>

namespace modeld {
namespace {

// A wait is a cause only if it is a good part of the time.
constexpr double kMostWorking = 0.9;

}  // namespace

std::string_view to_string(HealthState state) {
  constexpr std::array<std::string_view, 8> kNames = {"starting", "selfTest", "waitingForFrames",
                                                      "ok",       "degraded", "lagging",
                                                      "stalled",  "faulted"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view to_string(HealthReason reason) {
  constexpr std::array<std::string_view, kHealthReasonCount> kNames = {"none",
                                                                       "startUp",
                                                                       "noCameraServer",
                                                                       "noSuchStream",
                                                                       "noFrames",
                                                                       "framesLate",
                                                                       "notCalibrated",
                                                                       "inputInvalid",
                                                                       "executionTime",
                                                                       "waitingForCpu",
                                                                       "waitingForDevice",
                                                                       "deadlineMissed",
                                                                       "overrun",
                                                                       "unpaired",
                                                                       "outputInvalid",
                                                                       "selfTestFailed",
                                                                       "artifactRefused",
                                                                       "artifactUnsigned",
                                                                       "deviceMissing",
                                                                       "deviceLost",
                                                                       "deviceError",
                                                                       "runningOnFallback",
                                                                       "restarting",
                                                                       "shuttingDown",
                                                                       "configuration",
                                                                       "internal",
                                                                       "sandboxIncomplete"};
  return kNames[static_cast<size_t>(reason)];
}

HealthStateMachine::HealthStateMachine(const HealthLimits& limits, Nanoseconds now)
    : limits_(limits), changed_at_(now) {}

void HealthStateMachine::become(HealthState state, HealthReason reason, Nanoseconds now) {
  if (state == state_ && reason == reason_) return;
  state_ = state;
  reason_ = reason;
  changed_at_ = now;
  ++changes_;
  if (state != HealthState::kFaulted) text_.clear();
}

bool HealthStateMachine::running() const {
  return state_ != HealthState::kStarting && state_ != HealthState::kSelfTest &&
         state_ != HealthState::kFaulted;
}

void HealthStateMachine::begin_self_test(Nanoseconds now) {
  become(HealthState::kSelfTest, HealthReason::kStartUp, now);
}

void HealthStateMachine::self_test_passed(Nanoseconds now) {
  any_frame_ = false;
  become(HealthState::kWaitingForFrames, HealthReason::kStartUp, now);
}

void HealthStateMachine::note_frame(HealthReason bad_reason, Nanoseconds now) {
  const bool bad = bad_reason != HealthReason::kNone;
  if (bad_[next_]) --bad_count_;
  bad_[next_] = bad;
  next_ = (next_ + 1) % kWindow;
  last_was_bad_ = bad;
  if (bad) {
    ++bad_count_;
    repeats_ = bad_reason == last_bad_ ? repeats_ + 1 : 1;
    last_bad_ = bad_reason;
    // Two kinds of bad frames taking turns must not change the published reason every frame.
    if (!frames_bad_ || repeats_ >= kBadEnter) bad_reason_ = bad_reason;
  }
  if (bad_count_ >= kBadEnter) frames_bad_ = true;
  if (bad_count_ == 0) frames_bad_ = false;

  const auto interval = static_cast<double>(now - last_frame_);
  if (any_frame_ && now - last_frame_ < limits_.no_frames_after) {
    average_interval_ += (interval - average_interval_) / kAverageFrames;
  } else {
    average_interval_ = static_cast<double>(limits_.frame_period);
  }
  any_frame_ = true;
  last_frame_ = now;
}

void HealthStateMachine::judge_times() {
  const double share = average_working_ / static_cast<double>(limits_.frame_budget);
  lagging_ = share > (lagging_ ? limits_.lagging_below : limits_.lagging_above);
  cause_ = judge_cause(share);
  slow_ = share > (slow_ ? limits_.degraded_below : limits_.degraded_above);
  const double interval = average_interval_ / static_cast<double>(limits_.frame_period);
  late_ = interval > (late_ ? limits_.late_below : limits_.late_above);
}

// The cause stays until the numbers speak clearly against it.
HealthReason HealthStateMachine::judge_cause(double share) {
  const auto blames = [&](HealthReason reason, double wait) {
    const double without = share - wait / static_cast<double>(limits_.frame_budget);
    return without < (cause_ == reason ? limits_.degraded_above : limits_.degraded_below) &&
           without < share * kMostWorking;
  };
  if (blames(HealthReason::kWaitingForCpu, average_cpu_wait_)) return HealthReason::kWaitingForCpu;
  if (blames(HealthReason::kWaitingForDevice, average_device_wait_)) {
    return HealthReason::kWaitingForDevice;
  }
  return HealthReason::kExecutionTime;
}

void HealthStateMachine::judge(Nanoseconds now) {
  if (!running()) return;
  judge_times();
  if (lagging_) return become(HealthState::kLagging, cause_, now);
  if (frames_bad_) return become(HealthState::kDegraded, bad_reason_, now);
  if (slow_) return become(HealthState::kDegraded, cause_, now);
  if (late_) return become(HealthState::kDegraded, HealthReason::kFramesLate, now);
  if (standing_ != HealthReason::kNone) return become(HealthState::kDegraded, standing_, now);
  // A bad frame, even a single one, is no reason to enter the good state (nor to leave it).
  if (!last_was_bad_) become(HealthState::kOk, HealthReason::kNone, now);
}

void HealthStateMachine::frame_answered(Nanoseconds working, Nanoseconds now, HealthReason concern,
                                        FrameWaits waits) {
  // From zero: one slow frame at the start is no trend.
  const auto follow = [](double& average, Nanoseconds value) {
    average += (static_cast<double>(value) - average) / kAverageFrames;
  };
  follow(average_working_, working);
  follow(average_cpu_wait_, waits.cpu);
  follow(average_device_wait_, waits.device);
  note_frame(concern, now);
  judge(now);
}

void HealthStateMachine::frame_failed(HealthReason reason, Nanoseconds now) {
  note_frame(reason, now);
  if (state_ != HealthState::kStalled) judge(now);
}

void HealthStateMachine::set_standing(HealthReason reason, Nanoseconds now) {
  standing_ = reason;
  if (state_ == HealthState::kOk || state_ == HealthState::kDegraded) judge(now);
}

void HealthStateMachine::stalled(HealthReason reason, Nanoseconds now) {
  if (running()) become(HealthState::kStalled, reason, now);
}

void HealthStateMachine::fault(HealthReason reason, std::string text, Nanoseconds now) {
  become(HealthState::kFaulted, reason, now);
  text_ = std::move(text);
}

void HealthStateMachine::recovered(Nanoseconds now) {
  if (state_ != HealthState::kFaulted) return;
  bad_.fill(false);
  bad_count_ = 0;
  frames_bad_ = false;
  last_was_bad_ = false;
  average_working_ = 0;
  average_cpu_wait_ = 0;
  average_device_wait_ = 0;
  any_frame_ = false;
  become(HealthState::kWaitingForFrames, HealthReason::kNone, now);
}

void HealthStateMachine::no_frame(HealthReason why, Nanoseconds now) {
  if (!running() || state_ == HealthState::kStalled) return;
  if (any_frame_ && now - last_frame_ < limits_.no_frames_after) return;
  become(HealthState::kWaitingForFrames, why, now);
}

}  // namespace modeld
