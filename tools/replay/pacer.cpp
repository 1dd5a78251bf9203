#include "tools/replay/pacer.h"

#include <time.h>

#include <algorithm>

namespace modeld::replay {
namespace {

constexpr Nanoseconds kSleep = 100 * kMillisecond;

void sleep_for(Nanoseconds duration) {
  const timespec length{duration / kSecond, duration % kSecond};
  nanosleep(&length, nullptr);
}

}  // namespace

void Pacer::begin(Nanoseconds time) {
  begin_ = time;
  real_begin_ = Clock::real().monotonic();
}

Status Pacer::wait_for(Nanoseconds time) const {
  while (true) {
    if (stop_()) return Error(ErrorCode::kInterrupted, "stopped");
    if (rate_ <= 0 || time <= begin_) return {};
    const auto due =
        real_begin_ + static_cast<Nanoseconds>(static_cast<double>(time - begin_) / rate_);
    const Nanoseconds wait = due - Clock::real().monotonic();
    if (wait <= 0) return {};
    sleep_for(std::min(wait, kSleep));
  }
}

}  // namespace modeld::replay
