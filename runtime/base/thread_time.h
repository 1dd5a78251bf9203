// Time a thread wanted to run and was not let: the difference between the clock and its own use of
// the processor.
#pragma once

#include "runtime/base/clock.h"

namespace modeld {

// Processor time of the calling thread, behind a seam like Clock. Thread-safe.
class ThreadTime {
 public:
  virtual ~ThreadTime() = default;
  virtual Nanoseconds used() const = 0;

  // CLOCK_THREAD_CPUTIME_ID; some 200 ns, no file is read. Lives for the whole process.
  static const ThreadTime& real();
};

// One stretch of work on one thread. What the thread did not compute and did not sleep on purpose
// it spent waiting for a processor (or for a page of memory).
class CpuWaitMeter {
 public:
  explicit CpuWaitMeter(const Clock& clock = Clock::real(),
                        const ThreadTime& thread_time = ThreadTime::real())
      : clock_(clock), thread_time_(thread_time) {
    begin();
  }

  void begin() {
    began_ = clock_.monotonic();
    used_ = thread_time_.used();
    slept_ = 0;
  }
  // Time of the stretch spent blocked on purpose: for a device, for another thread.
  void slept(Nanoseconds duration) { slept_ += duration; }
  // Since begin(); never negative.
  Nanoseconds waited() const {
    const Nanoseconds idle = clock_.monotonic() - began_ - (thread_time_.used() - used_) - slept_;
    return idle > 0 ? idle : 0;
  }
  Nanoseconds began() const { return began_; }

 private:
  const Clock& clock_;
  const ThreadTime& thread_time_;
  Nanoseconds began_ = 0;
  Nanoseconds used_ = 0;
  Nanoseconds slept_ = 0;
};

}  // namespace modeld
