// Devices that come late: the one retry policy.
#pragma once

#include <functional>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

struct RetryPolicy {
  Nanoseconds patience = 5 * kSecond;  // from the first attempt; later failures are final
  Nanoseconds pause = 250 * kMillisecond;
};

// Whether another attempt can help: the device answered with an error, is gone or did not answer.
// What is wrong with an artifact, a configuration or an answer stays wrong.
bool may_come_late(const Error& error);

// Attempts until one succeeds, fails for good or `patience` is over; the last error then. `pause`
// waits for the given time (an error of it ends everything) and is told why.
Status retry_device(const RetryPolicy& policy, const Clock& clock,
                    const std::function<Status()>& attempt,
                    const std::function<Status(const Error& why, Nanoseconds)>& pause);

}  // namespace modeld
