#include "runtime/base/clock.h"

#include <ctime>

namespace modeld {
namespace {

Nanoseconds read_clock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * kSecond + now.tv_nsec;
}

class RealClock final : public Clock {
 public:
  Nanoseconds monotonic() const override { return read_clock(CLOCK_MONOTONIC); }
  Nanoseconds boottime() const override { return read_clock(CLOCK_BOOTTIME); }
};

}  // namespace

const Clock& Clock::real() {
  static const RealClock clock;
  return clock;
}

}  // namespace modeld
