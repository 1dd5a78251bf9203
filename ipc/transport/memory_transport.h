// A transport inside one process: for tests and for replay without sockets.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {

// Topics live here. Thread-safe; publishers and subscribers of one topic may be on any threads.
// A queueing subscriber keeps `queue_depth` messages and then misses new ones, like a socket at its
// high-water mark. Slots are reused, so nothing is allocated once every slot has seen its largest
// message.
class MemoryTransport final : public Transport {
 public:
  explicit MemoryTransport(const Clock& clock, Role role = Role::kDesk, size_t queue_depth = 1024);
  ~MemoryTransport() override;

  Result<std::unique_ptr<Publisher>> publisher(std::string_view topic) override;
  Result<std::unique_ptr<Subscriber>> subscriber(std::string_view topic,
                                                 SubscribeMode mode) override;
  Result<bool> wait(std::span<Subscriber* const> subscribers, Deadline deadline) override;

 private:
  class MemoryPublisher;
  class MemorySubscriber;
  struct Topic {
    bool published = false;
    std::vector<MemorySubscriber*> subscribers;
  };

  Topic& topic_locked(std::string_view name);

  const Clock& clock_;
  const Role role_;
  const size_t queue_depth_;
  std::mutex mutex_;  // guards everything below, and the queues of the subscribers
  std::condition_variable arrived_;
  std::map<std::string, Topic, std::less<>> topics_;
};

}  // namespace modeld::ipc
