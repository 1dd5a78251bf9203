#include "daemon/inputs/input_tracker.h"

#include <algorithm>

namespace modeld {
namespace {

constexpr double kAverageMessages = 10;
constexpr double kAlivePeriods = 10;
constexpr Nanoseconds kShortestSilence = 500 * kMillisecond;

}  // namespace

void InputTracker::received(Nanoseconds now, bool valid) {
  if (received_ == 1) {
    average_interval_ = static_cast<double>(now - last_);
  } else if (received_ > 1) {
    average_interval_ += (static_cast<double>(now - last_) - average_interval_) / kAverageMessages;
  }
  ++received_;
  last_ = now;
  valid_ = valid;
}

bool InputTracker::alive(Nanoseconds now) const {
  if (frequency_hz_ == 0) return true;
  if (!seen()) return false;
  return static_cast<double>(now - last_) < kAlivePeriods / frequency_hz_ * kSecond;
}

Nanoseconds InputTracker::longest_silence() const {
  if (frequency_hz_ == 0) return 0;
  return std::max(static_cast<Nanoseconds>(kAlivePeriods / frequency_hz_ * kSecond),
                  kShortestSilence);
}

bool InputTracker::stale(Nanoseconds now) const {
  return seen() && frequency_hz_ != 0 && age(now) >= longest_silence();
}

}  // namespace modeld
