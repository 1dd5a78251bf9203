// How much of one processor somebody takes.
#pragma once

#include "runtime/base/clock.h"

namespace modeld {

// From readings of a processor-time clock: the share over at least the last kInterval. Not
// thread-safe.
class CpuShare {
 public:
  static constexpr Nanoseconds kInterval = 5 * kSecond;

  void note(Nanoseconds processor_time, Nanoseconds now) {
    if (!began_ || processor_time < taken_) {  // another process
      began_ = true;
      since_ = now;
      taken_ = processor_time;
      share_ = 0;
      return;
    }
    if (now - since_ < kInterval) return;
    share_ = static_cast<double>(processor_time - taken_) / static_cast<double>(now - since_);
    since_ = now;
    taken_ = processor_time;
  }
  void forget() { *this = CpuShare(); }
  // 1: all of one processor. 0 until the first interval is over.
  double share() const { return share_; }

 private:
  bool began_ = false;
  Nanoseconds since_ = 0;
  Nanoseconds taken_ = 0;
  double share_ = 0;
};

}  // namespace modeld
