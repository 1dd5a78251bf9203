#include "daemon/inputs/input_tracker.h"

#include <algorithm>

namespace modeld {
namespace {

constexpr double kAlivePeriods = 10;
constexpr Nanoseconds kShortestSilence = 500 * kMillisecond;
constexpr double kLongRun = 10;  // seconds
constexpr double kLeast = 0.8;
constexpr double kMost = 1.2;

// Messages that come in `seconds`, at least one, and no more than memory is worth.
size_t messages_in(double seconds, double frequency_hz) {
  return static_cast<size_t>(std::clamp(seconds * frequency_hz, 1.0, 2000.0));
}

}  // namespace

InputTracker::InputTracker(double frequency_hz)
    : frequency_hz_(frequency_hz),
      long_run_(messages_in(kLongRun, frequency_hz)),
      short_run_(messages_in(1, frequency_hz)) {}

void InputTracker::received(Nanoseconds now, bool valid) {
  if (received_ > 0) {
    long_run_.add(now - last_);
    short_run_.add(now - last_);
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

Check InputTracker::rate_check(double poll_hz) const {
  if (frequency_hz_ == 0) return Check::kNotApplicable;
  if (received_ < 2) return Check::kUnknown;
  const double least = kLeast * (poll_hz > 0 ? std::min(frequency_hz_, poll_hz) : frequency_hz_);
  const double most = kMost * frequency_hz_;
  const auto expected = [&](double rate) { return rate >= least && rate <= most; };
  return expected(long_run_.rate_hz()) || expected(short_run_.rate_hz()) ? Check::kPassed
                                                                         : Check::kFailed;
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
