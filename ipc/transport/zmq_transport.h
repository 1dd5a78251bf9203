// Topics over ZeroMQ, one PUB or SUB socket per topic, every message one single-part frame with
// nothing around it (facts 2.1). Either `ipc://<ipc_dir>/<topic>` or `tcp://<address>:<port>` with
// openpilot's port rule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {

// Where topics live when nothing is configured: /run/modeld if that exists and is ours to write,
// else $XDG_RUNTIME_DIR/modeld, else /run/modeld all the same (and the refusal will name it).
std::filesystem::path default_ipc_dir();

struct ZmqOptions {
  enum class Kind : uint8_t { kIpc, kTcp };
  Kind kind = Kind::kIpc;
  // kIpc. Made with mode 0755 if missing (its parent must exist). Refused if other users could
  // replace sockets in it: not a directory, or writable by others without the sticky bit.
  std::filesystem::path ipc_dir;
  // kTcp: a numeric IPv4 address, bound and connected to. Names are not resolved.
  std::string tcp_address = "127.0.0.1";
  Role role = Role::kDesk;
  // High-water mark of each end, in messages. A subscriber that is so far behind misses new ones.
  int queue_depth = 200;
};

// Publishers and subscribers keep what they need alive; they may outlive the transport object.
// A second publisher of a topic is refused; a stale socket file is replaced. Steady state: nothing
// of ours is allocated per message (libzmq allocates its own message for each send).
class ZmqTransport final : public Transport {
 public:
  static Result<std::unique_ptr<ZmqTransport>> create(const Clock& clock, ZmqOptions options);
  ~ZmqTransport() override;

  Result<std::unique_ptr<Publisher>> publisher(std::string_view topic) override;
  Result<std::unique_ptr<Subscriber>> subscriber(std::string_view topic,
                                                 SubscribeMode mode) override;
  Result<bool> wait(std::span<Subscriber* const> subscribers, Deadline deadline) override;

  // `ipc://...` or `tcp://...` of a topic; kInvalidArgument for names or paths that cannot be one.
  Result<std::string> endpoint(std::string_view topic) const;

 private:
  class ZmqPublisher;
  class ZmqSubscriber;
  class Context;
  class Socket;

  ZmqTransport(const Clock& clock, ZmqOptions options, std::shared_ptr<Context> context);

  const Clock& clock_;
  const ZmqOptions options_;
  const std::shared_ptr<Context> context_;
};

}  // namespace modeld::ipc
