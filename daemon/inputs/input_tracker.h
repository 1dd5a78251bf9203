// Whether a message input arrives as it should, judged the way openpilot judges services
// (interoperability facts 2.3).
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/clock.h"

namespace modeld {

// Not thread-safe; allocates nothing.
class InputTracker {
 public:
  // `frequency_hz` 0: sent when there is something to say; always alive.
  explicit InputTracker(double frequency_hz) : frequency_hz_(frequency_hz) {}

  void received(Nanoseconds now, bool valid);
  void rejected() { ++rejected_; }  // a message that did not decode

  bool seen() const { return received_ != 0; }
  // Not older than ten periods.
  bool alive(Nanoseconds now) const;
  // The flag of the last message; true for inputs without a frequency.
  bool valid() const { return frequency_hz_ == 0 || valid_; }
  // Messages taken per second, averaged over about ten periods; 0 before the second message.
  double rate_hz() const { return average_interval_ > 0 ? kSecond / average_interval_ : 0.0; }
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
  double average_interval_ = 0;  // ns
  bool valid_ = false;
};

}  // namespace modeld
