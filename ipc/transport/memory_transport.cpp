#include "ipc/transport/memory_transport.h"

#include <algorithm>
#include <chrono>

namespace modeld::ipc {
namespace {

// A ManualClock moves without telling anybody, so waits look at the clock again after this long.
constexpr Nanoseconds kWaitSlice = 10 * kMillisecond;

}  // namespace

// A ring of reusable message slots; head_ is the oldest of count_ waiting messages.
class MemoryTransport::MemorySubscriber final : public Subscriber {
 public:
  MemorySubscriber(MemoryTransport& owner, Topic& topic, SubscribeMode mode, size_t depth)
      : owner_(owner),
        topic_(topic),
        conflate_(mode == SubscribeMode::kConflate),
        slots_(conflate_ ? 1 : depth) {}

  ~MemorySubscriber() override {
    const std::lock_guard lock(owner_.mutex_);
    std::erase(topic_.subscribers, this);
  }

  Result<std::optional<std::span<const std::byte>>> receive() override {
    const std::lock_guard lock(owner_.mutex_);
    if (count_ == 0) return std::optional<std::span<const std::byte>>();
    std::swap(current_, slots_[head_]);
    head_ = (head_ + 1) % slots_.size();
    --count_;
    return std::optional<std::span<const std::byte>>(current_);
  }

  uint64_t rejected() const override { return 0; }

  void push_locked(std::span<const std::byte> message) {
    if (count_ == slots_.size()) {
      if (!conflate_) return;
      count_ = 0;
    }
    slots_[(head_ + count_) % slots_.size()].assign(message.begin(), message.end());
    ++count_;
  }

  bool readable_locked() const { return count_ > 0; }
  bool belongs_to(const MemoryTransport& transport) const { return &owner_ == &transport; }

 private:
  MemoryTransport& owner_;
  Topic& topic_;
  const bool conflate_;
  std::vector<std::vector<std::byte>> slots_;
  std::vector<std::byte> current_;
  size_t head_ = 0;
  size_t count_ = 0;
};

class MemoryTransport::MemoryPublisher final : public Publisher {
 public:
  MemoryPublisher(MemoryTransport& owner, Topic& topic) : owner_(owner), topic_(topic) {}

  ~MemoryPublisher() override {
    const std::lock_guard lock(owner_.mutex_);
    topic_.published = false;
  }

  Status send(std::span<const std::byte> framed_message) override {
    MODELD_TRY(check_message_size(framed_message.size()));
    {
      const std::lock_guard lock(owner_.mutex_);
      for (MemorySubscriber* subscriber : topic_.subscribers) {
        subscriber->push_locked(framed_message);
      }
    }
    owner_.arrived_.notify_all();
    return {};
  }

 private:
  MemoryTransport& owner_;
  Topic& topic_;
};

MemoryTransport::MemoryTransport(const Clock& clock, Role role, size_t queue_depth)
    : clock_(clock), role_(role), queue_depth_(std::max<size_t>(queue_depth, 1)) {}

MemoryTransport::~MemoryTransport() = default;

MemoryTransport::Topic& MemoryTransport::topic_locked(std::string_view name) {
  const auto found = topics_.find(name);
  if (found != topics_.end()) return found->second;
  return topics_.emplace(std::string(name), Topic()).first->second;
}

Result<std::unique_ptr<Publisher>> MemoryTransport::publisher(std::string_view topic) {
  MODELD_TRY(check_publish(role_, topic));
  const std::lock_guard lock(mutex_);
  Topic& entry = topic_locked(topic);
  if (entry.published) {
    return Error(ErrorCode::kIo, "the topic already has a publisher").in(topic);
  }
  entry.published = true;
  return std::unique_ptr<Publisher>(new MemoryPublisher(*this, entry));
}

Result<std::unique_ptr<Subscriber>> MemoryTransport::subscriber(std::string_view topic,
                                                                SubscribeMode mode) {
  MODELD_TRY(check_topic_name(topic));
  const std::lock_guard lock(mutex_);
  Topic& entry = topic_locked(topic);
  auto made = std::make_unique<MemorySubscriber>(*this, entry, mode, queue_depth_);
  entry.subscribers.push_back(made.get());
  return std::unique_ptr<Subscriber>(std::move(made));
}

Result<bool> MemoryTransport::wait(std::span<Subscriber* const> subscribers, Deadline deadline) {
  std::unique_lock lock(mutex_);
  while (true) {
    for (Subscriber* each : subscribers) {
      auto* subscriber = dynamic_cast<MemorySubscriber*>(each);
      if (subscriber == nullptr || !subscriber->belongs_to(*this)) {
        return Error(ErrorCode::kInvalidArgument, "a subscriber of another transport");
      }
      if (subscriber->readable_locked()) return true;
    }
    const Nanoseconds remaining = deadline.remaining(clock_);
    if (remaining <= 0) return false;
    arrived_.wait_for(lock, std::chrono::nanoseconds(std::min(remaining, kWaitSlice)));
  }
}

}  // namespace modeld::ipc
