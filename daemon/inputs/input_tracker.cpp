#include "daemon/inputs/input_tracker.h"

namespace modeld {
namespace {

constexpr double kAverageMessages = 10;
constexpr double kAlivePeriods = 10;

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

}  // namespace modeld
