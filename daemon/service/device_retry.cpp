#include "daemon/service/device_retry.h"

namespace modeld {

bool may_come_late(const Error& error) {
  return error.code == ErrorCode::kDevice || error.code == ErrorCode::kDeviceLost;
}

Status retry_device(const RetryPolicy& policy, const Clock& clock,
                    const std::function<Status()>& attempt,
                    const std::function<Status(const Error& why, Nanoseconds)>& pause) {
  const Deadline deadline = Deadline::after(clock, policy.patience);
  while (true) {
    Status went = attempt();
    if (went.ok() || !may_come_late(went.error())) return went;
    if (deadline.remaining(clock) < policy.pause) return went;
    MODELD_TRY(pause(went.error(), policy.pause));
  }
}

}  // namespace modeld
