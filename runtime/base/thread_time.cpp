#include "runtime/base/thread_time.h"

#include <time.h>

namespace modeld {
namespace {

class RealThreadTime final : public ThreadTime {
 public:
  Nanoseconds used() const override {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return Nanoseconds{now.tv_sec} * kSecond + now.tv_nsec;
  }
};

}  // namespace

const ThreadTime& ThreadTime::real() {
  static const RealThreadTime time;
  return time;
}

}  // namespace modeld
