// Sends a daemon's health on its own topic.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/health/daemon_health.h"
#include "ipc/schema/message_writer.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// Called between frames by the thread that owns the health: at the stated rate, and at once after a
// change of state or reason. Allocates nothing of its own after the first message. A message nobody
// takes is not an error. Not thread-safe.
class HealthPublisher {
 public:
  HealthPublisher(std::unique_ptr<ipc::Publisher> publisher, const Clock& clock, double rate_hz);

  bool due(const DaemonHealth& health) const;
  Status publish(const DaemonHealth& health);
  Status publish_if_due(const DaemonHealth& health) {
    return due(health) ? publish(health) : Status();
  }
  uint64_t sent() const { return sent_; }

 private:
  std::unique_ptr<ipc::Publisher> publisher_;
  const Clock& clock_;
  const Nanoseconds period_;
  ipc::MessageWriter writer_;
  uint64_t sent_ = 0;
  uint64_t sent_changes_ = 0;  // HealthStateMachine::changes() of the last message
  Nanoseconds last_ = 0;
};

}  // namespace modeld
