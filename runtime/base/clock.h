// Time behind a seam, so that tests of deadlines and stalls never sleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace modeld {

using Nanoseconds = int64_t;

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kSecond = 1'000'000'000;

// Durations and deadlines are CLOCK_MONOTONIC; frame timestamps and ages are CLOCK_BOOTTIME
// (the clock of the camera server). All methods are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds monotonic() const = 0;
  virtual Nanoseconds boottime() const = 0;

  // The machine's clocks. Lives for the whole process.
  static const Clock& real();
};

// A clock that moves only when told to: for tests and for replay.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Nanoseconds start = kSecond) : now_(start) {}
  Nanoseconds monotonic() const override { return now_.load(); }
  Nanoseconds boottime() const override { return now_.load(); }
  void advance(Nanoseconds by) { now_ += by; }
  void set(Nanoseconds now) { now_ = now; }

 private:
  std::atomic<Nanoseconds> now_;
};

// A point on the monotonic clock after which a wait gives up.
struct Deadline {
  Nanoseconds at = 0;

  static Deadline after(const Clock& clock, Nanoseconds duration) {
    return {clock.monotonic() + duration};
  }
  Nanoseconds remaining(const Clock& clock) const { return at - clock.monotonic(); }
  bool passed(const Clock& clock) const { return remaining(clock) <= 0; }
};

}  // namespace modeld
