// How a daemon feels, and why: a pure state machine with hysteresis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"

namespace modeld {

// Values are those of the wire (ipc/schema/health.capnp).
enum class HealthState : uint8_t {
  kStarting,
  kSelfTest,
  kWaitingForFrames,
  kOk,
  kDegraded,
  kLagging,
  kStalled,
  kFaulted,
};
std::string_view to_string(HealthState state);  // as on the wire: "waitingForFrames", ...

enum class HealthReason : uint8_t {
  kNone,
  kStartUp,
  kNoCameraServer,
  kNoSuchStream,
  kNoFrames,
  kFramesLate,
  kNotCalibrated,
  kInputInvalid,
  kExecutionTime,
  kWaitingForCpu,
  kWaitingForDevice,
  kDeadlineMissed,
  kOverrun,
  kUnpaired,
  kOutputInvalid,
  kSelfTestFailed,
  kArtifactRefused,
  kArtifactUnsigned,
  kDeviceMissing,
  kDeviceLost,
  kDeviceError,
  kRunningOnFallback,
  kRestarting,
  kShuttingDown,
  kConfiguration,
  kInternal,
  kSandboxIncomplete,
};
constexpr size_t kHealthReasonCount = 27;
std::string_view to_string(HealthReason reason);  // as on the wire: "noCameraServer", ...

struct HealthLimits {
  Nanoseconds frame_budget = 50 * kMillisecond;
  Nanoseconds frame_period = 50 * kMillisecond;  // of the camera
  // Without an accepted frame for this long the daemon is waiting for frames.
  Nanoseconds no_frames_after = 1 * kSecond;
  // Working time over the budget, averaged over about kAverageFrames: where a state is entered and
  // where it is left again.
  double degraded_above = 0.85;
  double degraded_below = 0.75;
  double lagging_above = 1.0;
  double lagging_below = 0.9;
  // Camera interval over the period, likewise.
  double late_above = 1.5;
  double late_below = 1.25;
};

// How long an answer waited for somebody else. Both lie inside its working time.
struct FrameWaits {
  Nanoseconds cpu = 0;     // threads that were able to run and did not
  Nanoseconds device = 0;  // handed over, not yet begun
};

// Fed by the loop with what happened; answers state, reason and the time of the last change.
// Allocates only where a fault brings a text. Not thread-safe.
//
// Hysteresis: a fault of single frames counts from kBadEnter bad ones among the last kWindow and
// is over after kWindow good ones in a row; times are averages with a gap between entering and
// leaving. Slow frames have the reason waitingForCpu or waitingForDevice if, without that wait,
// they would not be slow; executionTime otherwise. `stalled` ends with the next frame that was
// answered, `faulted` only with recovered().
class HealthStateMachine {
 public:
  static constexpr size_t kWindow = 20;
  static constexpr size_t kBadEnter = 3;
  static constexpr double kAverageFrames = 20;

  HealthStateMachine(const HealthLimits& limits, Nanoseconds now);

  void begin_self_test(Nanoseconds now);
  void self_test_passed(Nanoseconds now);  // then waits for frames

  // A frame was answered with valid messages; `working` is the time it took from being taken.
  // `concern` says what was not as it should be all the same.
  void frame_answered(Nanoseconds working, Nanoseconds now,
                      HealthReason concern = HealthReason::kNone, FrameWaits waits = {});
  // A frame was answered invalid, or thrown away, because of `reason`.
  void frame_failed(HealthReason reason, Nanoseconds now);
  // Something that holds for the whole run and keeps the state from being better than degraded
  // (kArtifactUnsigned, kSandboxIncomplete, kRunningOnFallback); kNone takes it back.
  void set_standing(HealthReason reason, Nanoseconds now);
  // The device did not answer in time.
  void stalled(HealthReason reason, Nanoseconds now);
  // Sticky until recovered(). `text`: one line for people.
  void fault(HealthReason reason, std::string text, Nanoseconds now);
  void recovered(Nanoseconds now);
  // To be called at least every 100 ms while no frame comes; `why` names what is missing.
  void no_frame(HealthReason why, Nanoseconds now);

  HealthState state() const { return state_; }
  HealthReason reason() const { return reason_; }
  const std::string& text() const { return text_; }
  Nanoseconds changed_at() const { return changed_at_; }
  // Counts changes of state or reason; a publisher sends when it differs.
  uint64_t changes() const { return changes_; }
  double average_working_ms() const { return average_working_ / kMillisecond; }

 private:
  void become(HealthState state, HealthReason reason, Nanoseconds now);
  void note_frame(HealthReason bad_reason, Nanoseconds now);
  void judge(Nanoseconds now);
  void judge_times();
  HealthReason judge_cause(double share);
  bool running() const;

  HealthLimits limits_;
  HealthState state_ = HealthState::kStarting;
  HealthReason reason_ = HealthReason::kStartUp;
  std::string text_;
  Nanoseconds changed_at_;
  uint64_t changes_ = 0;

  HealthReason standing_ = HealthReason::kNone;
  std::array<bool, kWindow> bad_{};
  size_t next_ = 0;
  size_t bad_count_ = 0;
  size_t repeats_ = 0;  // bad frames so far with the same reason as the last
  HealthReason last_bad_ = HealthReason::kNone;
  HealthReason bad_reason_ = HealthReason::kNone;  // what `degraded` says
  bool last_was_bad_ = false;
  bool frames_bad_ = false;
  bool slow_ = false;     // working time near the budget
  bool lagging_ = false;  // working time above the budget
  bool late_ = false;     // camera
  double average_working_ = 0;
  double average_cpu_wait_ = 0;
  double average_device_wait_ = 0;
  HealthReason cause_ = HealthReason::kExecutionTime;  // of being slow
  double average_interval_ = 0;
  bool any_frame_ = false;
  Nanoseconds last_frame_ = 0;
};

}  // namespace modeld
