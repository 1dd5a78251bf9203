// A route's time against the machine's.
#pragma once

#include <functional>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld::replay {

class Pacer {
 public:
  // `rate` 1: as it happened; 0: no waiting. `stop` is asked at least every 100 ms.
  Pacer(double rate, std::function<bool()> stop) : rate_(rate), stop_(std::move(stop)) {}

  // Route time `time` is now.
  void begin(Nanoseconds time);
  // Returns when `time` has come; what is late comes at once. kInterrupted when stopped.
  Status wait_for(Nanoseconds time) const;

 private:
  const double rate_;
  const std::function<bool()> stop_;
  Nanoseconds begin_ = 0;
  Nanoseconds real_begin_ = 0;
};

}  // namespace modeld::replay
