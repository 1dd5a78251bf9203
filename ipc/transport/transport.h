// How framed messages travel: one topic, one publisher, any number of subscribers. Implementations:
// ZeroMQ (zmq_transport.h), openpilot's shared-memory rings (ipc/msgq/msgq_transport.h) and, inside
// one process, memory_transport.h. open_transport.h makes one by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld::ipc {

// Largest message accepted or sent, in bytes. The largest queue openpilot states is 10 MiB and a
// message may take a third of it (facts 2.2 and 2.4); this leaves room and still bounds a peer.
constexpr size_t kMaxMessageBytes = size_t{16} << 20;

// kInvalidArgument for 0 and for more than kMaxMessageBytes. (A zero-length message aborts every
// subscriber of a shared-memory ring, facts 2.2.)
Status check_message_size(size_t bytes);

// What a subscriber keeps when it is slower than the publisher.
enum class SubscribeMode : uint8_t {
  kConflate,  // only the newest message
  kQueue,     // every message, up to the transport's stated queue depth
};

// The sending end of one topic. Used by one thread at a time.
class Publisher {
 public:
  virtual ~Publisher() = default;

  // Sends one framed message to whoever is subscribed now; never blocks. A subscriber whose queue
  // is full misses it. Sizes that check_message_size turns down are not sent.
  virtual Status send(std::span<const std::byte> framed_message) = 0;
};

// The receiving end of one topic. Used by one thread at a time.
class Subscriber {
 public:
  virtual ~Subscriber() = default;

  // The next message, or nothing if none waits; never blocks. The bytes are whatever a peer sent
  // (unchecked, of any alignment) and stay valid until the next receive() on this subscriber.
  virtual Result<std::optional<std::span<const std::byte>>> receive() = 0;

  // Messages thrown away because they broke the transport's rules (multi-part, empty, too large).
  virtual uint64_t rejected() const = 0;

  // Times the publisher overtook this subscriber and messages were lost. 0 where the transport
  // cannot tell.
  virtual uint64_t lapped() const { return 0; }
};

// Makes publishers and subscribers, which must not outlive it unless the implementation says so.
// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  // kPermission if the process's role may not publish `topic`, kIo if somebody else already
  // does, kInvalidArgument for a name that is not a topic name (see topics.h).
  virtual Result<std::unique_ptr<Publisher>> publisher(std::string_view topic) = 0;

  // Succeeds whether or not a publisher exists yet; messages sent before the connection stands are
  // not seen.
  virtual Result<std::unique_ptr<Subscriber>> subscriber(std::string_view topic,
                                                         SubscribeMode mode) = 0;

  // Waits until one of at most kMaxWaitSubscribers subscribers of this transport has a message:
  // true then, false when the deadline has passed. False may come early when a signal arrives, so
  // that a caller can look at its stop flag. With no subscriber at all it is a plain sleep.
  virtual Result<bool> wait(std::span<Subscriber* const> subscribers, Deadline deadline) = 0;

  static constexpr size_t kMaxWaitSubscribers = 16;
};

}  // namespace modeld::ipc
