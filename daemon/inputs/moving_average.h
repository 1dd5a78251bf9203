// The mean of the last intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/clock.h"

namespace modeld {

// Not thread-safe; allocates in the constructor only.
class MovingAverage {
 public:
  explicit MovingAverage(size_t most) : last_(most) {}

  void add(Nanoseconds interval) {
    if (count_ == last_.size()) {
      sum_ -= last_[next_];
    } else {
      ++count_;
    }
    sum_ += interval;
    last_[next_] = interval;
    next_ = (next_ + 1) % last_.size();
  }

  // Per second; 0 before the first interval, and where all were 0.
  double rate_hz() const {
    if (sum_ <= 0) return 0.0;
    return static_cast<double>(count_) * kSecond / static_cast<double>(sum_);
  }

 private:
  std::vector<Nanoseconds> last_;
  size_t count_ = 0;
  size_t next_ = 0;
  Nanoseconds sum_ = 0;
};

}  // namespace modeld
