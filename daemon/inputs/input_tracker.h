// Whether a message input arrives as it should, judged the way openpilot judges services
// (interoperability facts 2.3).
#pragma once

#include <cstdint>

#include "daemon/health/readiness.h"
#include "daemon/inputs/moving_average.h"
#include "runtime/base/clock.h"

namespace modeld {

// Not thread-safe; allocates in the constructor only.
class InputTracker {
 public:
  // `frequency_hz` 0: sent when there is something to say; always alive.
  explicit InputTracker(double frequency_hz);

  void received(Nanoseconds now, bool valid);
  void rejected() { ++rejected_; }  // a message that did not decode

  bool seen() const { return received_ != 0; }
  // Not older than ten periods.
  bool alive(Nanoseconds now) const;
  // The flag of the last message; true for inputs without a frequency.
  bool valid() const { return frequency_hz_ == 0 || valid_; }
  // Messages taken per second, over the last ten seconds' worth of them; 0 before the second.
  double rate_hz() const { return long_run_.rate_hz(); }
  // Whether messages come at 0.8 to 1.2 times the frequency, over the last ten seconds' worth of
  // them or the last second's. A poll takes the newest message only: one that comes more often than
  // we poll (`poll_hz`; 0: not known) is expected at every poll. Unknown before the
  // second message, not applicable without a frequency.
  Check rate_check(double poll_hz) const;
  // Since the last message; meaningless before the first.
  Nanoseconds age(Nanoseconds now) const { return now - last_; }
  // How long a topic may be silent before what it said last must not be used any more: ten periods
  // and, because fast topics stand still together with the cameras when the machine is busy, at
  // least half a second. 0: for ever.
  Nanoseconds longest_silence() const;
  // Heard once, and silent for longer.
  bool stale(Nanoseconds now) const;
  uint64_t received_count() const { return received_; }
  uint64_t rejected_count() const { return rejected_; }

 private:
  double frequency_hz_;
  uint64_t received_ = 0;
  uint64_t rejected_ = 0;
  Nanoseconds last_ = 0;
  bool valid_ = false;
  MovingAverage long_run_;
  MovingAverage short_run_;
};

}  // namespace modeld
