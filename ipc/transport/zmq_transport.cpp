#include "ipc/transport/zmq_transport.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "ipc/transport/unix_listener.h"

namespace modeld::ipc {
namespace {

constexpr int kReconnectMs = 20;
constexpr int kReconnectMaxMs = 500;  // openpilot's
constexpr int kBacklog = 100;         // libzmq's own default
constexpr int kMaxRejectsPerReceive = 16;
// libzmq breaks the connection of a peer that sends more than this, and everything under way with
// it. So there is room above kMaxMessageBytes, where a message is only thrown away and counted.
constexpr auto kLargestOnTheWire = int64_t{256} << 20;

Error zmq_error(std::string_view what) {
  return Error(ErrorCode::kIo, std::string(what) + ": " + zmq_strerror(zmq_errno()));
}

Status check_ipc_dir(const std::filesystem::path& dir) {
  struct stat info {};
  if (::stat(dir.c_str(), &info) != 0) return errno_error("stat", errno).in(dir.string());
  if (!S_ISDIR(info.st_mode)) {
    return Error(ErrorCode::kRefused, "the place for sockets is not a directory").in(dir.string());
  }
  if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
    return Error(ErrorCode::kRefused, "other users may replace sockets in this directory")
        .expecting("not writable by others, or sticky", "writable by others")
        .in(dir.string());
  }
  return {};
}

Status make_ipc_dir(const std::filesystem::path& dir) {
  if (dir.empty() || !dir.is_absolute()) {
    return Error(ErrorCode::kInvalidArgument, "ipc_dir must be an absolute path")
        .expecting("/...", dir.string());
  }
  if (::mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) {
    return errno_error("making the directory for sockets", errno).in(dir.string());
  }
  return check_ipc_dir(dir);
}

}  // namespace

std::filesystem::path default_ipc_dir() {
  const std::filesystem::path system = "/run/modeld";
  if (::access(system.c_str(), W_OK | X_OK) == 0) return system;
  const char* user = std::getenv("XDG_RUNTIME_DIR");
  if (user != nullptr && user[0] == '/') return std::filesystem::path(user) / "modeld";
  return system;
}

class ZmqTransport::Context {
 public:
  Context() : context_(zmq_ctx_new()) {}
  // Cannot hang: every socket holds a reference to us and lingers for nothing.
  ~Context() {
    if (context_ != nullptr) zmq_ctx_term(context_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void* get() const { return context_; }

 private:
  void* context_;
};

class ZmqTransport::Socket {
 public:
  Socket(std::shared_ptr<Context> context, int type)
      : context_(std::move(context)), socket_(zmq_socket(context_->get(), type)) {}
  ~Socket() {
    if (socket_ != nullptr) zmq_close(socket_);
  }
  Socket(Socket&& other) noexcept
      : context_(std::move(other.context_)), socket_(std::exchange(other.socket_, nullptr)) {}
  Socket& operator=(Socket&&) = delete;

  void* get() const { return socket_; }

  Status set(int option, int value) { return set_raw(option, &value, sizeof(value)); }
  Status set_raw(int option, const void* value, size_t size) {
    if (zmq_setsockopt(socket_, option, value, size) == 0) return {};
    return zmq_error("setting a socket option");
  }

 private:
  std::shared_ptr<Context> context_;
  void* socket_;
};

class ZmqTransport::ZmqPublisher final : public Publisher {
 public:
  ZmqPublisher(UnixListener path, Socket socket)
      : path_(std::move(path)), socket_(std::move(socket)) {}

  Status send(std::span<const std::byte> framed_message) override {
    MODELD_TRY(check_message_size(framed_message.size()));
    while (zmq_send(socket_.get(), framed_message.data(), framed_message.size(), ZMQ_DONTWAIT) <
           0) {
      if (zmq_errno() != EINTR) return zmq_error("sending");
    }
    return {};
  }

 private:
  UnixListener path_;  // unused with tcp
  Socket socket_;
};

class ZmqTransport::ZmqSubscriber final : public Subscriber {
 public:
  explicit ZmqSubscriber(Socket socket) : socket_(std::move(socket)) { zmq_msg_init(&message_); }
  ~ZmqSubscriber() override { zmq_msg_close(&message_); }

  Result<std::optional<std::span<const std::byte>>> receive() override {
    for (int i = 0; i < kMaxRejectsPerReceive; ++i) {
      if (zmq_msg_recv(&message_, socket_.get(), ZMQ_DONTWAIT) < 0) {
        const int error = zmq_errno();
        if (error == EAGAIN || error == EINTR) break;
        return zmq_error("receiving");
      }
      // No publisher of ours or openpilot's sends several parts; taking one for a message would
      // be a guess.
      const bool part = zmq_msg_more(&message_) != 0 || std::exchange(in_parts_, false);
      in_parts_ = zmq_msg_more(&message_) != 0;
      const bool sized = check_message_size(zmq_msg_size(&message_)).ok();
      if (!part && sized) {
        const auto* data = static_cast<const std::byte*>(zmq_msg_data(&message_));
        return std::optional(std::span(data, zmq_msg_size(&message_)));
      }
      if (!in_parts_) ++rejected_;
    }
    return std::optional<std::span<const std::byte>>();
  }

  uint64_t rejected() const override { return rejected_; }
  void* socket() const { return socket_.get(); }

 private:
  Socket socket_;
  zmq_msg_t message_;
  bool in_parts_ = false;  // the part before said that more follow
  uint64_t rejected_ = 0;
};

Result<std::unique_ptr<ZmqTransport>> ZmqTransport::create(const Clock& clock, ZmqOptions options) {
  if (options.queue_depth < 1) {
    return Error(ErrorCode::kInvalidArgument, "queue depth out of range")
        .expecting("at least 1", std::to_string(options.queue_depth));
  }
  if (options.kind == ZmqOptions::Kind::kIpc) {
    MODELD_TRY(make_ipc_dir(options.ipc_dir));
  } else {
    in_addr address{};
    if (::inet_pton(AF_INET, options.tcp_address.c_str(), &address) != 1) {
      return Error(ErrorCode::kInvalidArgument, "not a numeric IPv4 address")
          .expecting("127.0.0.1 or similar", options.tcp_address);
    }
  }
  auto context = std::make_shared<Context>();
  if (context->get() == nullptr) return zmq_error("making the ZeroMQ context");
  return std::unique_ptr<ZmqTransport>(
      new ZmqTransport(clock, std::move(options), std::move(context)));
}

ZmqTransport::ZmqTransport(const Clock& clock, ZmqOptions options, std::shared_ptr<Context> context)
    : clock_(clock), options_(std::move(options)), context_(std::move(context)) {}

ZmqTransport::~ZmqTransport() = default;

Result<std::string> ZmqTransport::endpoint(std::string_view topic) const {
  MODELD_TRY(check_topic_name(topic));
  if (options_.kind == ZmqOptions::Kind::kTcp) {
    return "tcp://" + options_.tcp_address + ":" + std::to_string(topic_port(topic));
  }
  const std::filesystem::path path = options_.ipc_dir / topic;
  MODELD_TRY(check_socket_path(path));
  return "ipc://" + path.string();
}

Result<std::unique_ptr<Publisher>> ZmqTransport::publisher(std::string_view topic) {
  MODELD_TRY(check_publish(options_.role, topic));
  MODELD_ASSIGN(const std::string address, endpoint(topic));
  Socket socket(context_, ZMQ_PUB);
  if (socket.get() == nullptr) return zmq_error("making a PUB socket");
  MODELD_TRY(socket.set(ZMQ_LINGER, 0));
  MODELD_TRY(socket.set(ZMQ_SNDHWM, options_.queue_depth));
  UnixListener path;
  if (options_.kind == ZmqOptions::Kind::kIpc) {
    // Left to itself libzmq takes the path from a living publisher, and a closing one takes it from
    // its successor.
    MODELD_ASSIGN(path, UnixListener::listen(options_.ipc_dir / topic, SOCK_STREAM, kBacklog));
    MODELD_TRY(socket.set(ZMQ_USE_FD, path.fd()));
  }
  if (zmq_bind(socket.get(), address.c_str()) != 0) {
    return Error(ErrorCode::kIo, std::string("binding: ") + zmq_strerror(zmq_errno())).in(address);
  }
  path.release_fd();  // libzmq closes it
  return std::unique_ptr<Publisher>(new ZmqPublisher(std::move(path), std::move(socket)));
}

Result<std::unique_ptr<Subscriber>> ZmqTransport::subscriber(std::string_view topic,
                                                             SubscribeMode mode) {
  MODELD_ASSIGN(const std::string address, endpoint(topic));
  Socket socket(context_, ZMQ_SUB);
  if (socket.get() == nullptr) return zmq_error("making a SUB socket");
  MODELD_TRY(socket.set(ZMQ_LINGER, 0));
  MODELD_TRY(socket.set(ZMQ_RCVHWM, options_.queue_depth));
  MODELD_TRY(socket.set(ZMQ_RECONNECT_IVL, kReconnectMs));
  MODELD_TRY(socket.set(ZMQ_RECONNECT_IVL_MAX, kReconnectMaxMs));
  MODELD_TRY(socket.set_raw(ZMQ_MAXMSGSIZE, &kLargestOnTheWire, sizeof(kLargestOnTheWire)));
  if (mode == SubscribeMode::kConflate) MODELD_TRY(socket.set(ZMQ_CONFLATE, 1));
  MODELD_TRY(socket.set_raw(ZMQ_SUBSCRIBE, "", 0));
  if (zmq_connect(socket.get(), address.c_str()) != 0) return zmq_error("connecting").in(address);
  return std::unique_ptr<Subscriber>(new ZmqSubscriber(std::move(socket)));
}

Result<bool> ZmqTransport::wait(std::span<Subscriber* const> subscribers, Deadline deadline) {
  if (subscribers.size() > kMaxWaitSubscribers) {
    return Error(ErrorCode::kInvalidArgument, "too many subscribers to wait for")
        .expecting("at most " + std::to_string(kMaxWaitSubscribers),
                   std::to_string(subscribers.size()));
  }
  std::array<zmq_pollitem_t, kMaxWaitSubscribers> items{};
  for (size_t i = 0; i < subscribers.size(); ++i) {
    const auto* subscriber = dynamic_cast<ZmqSubscriber*>(subscribers[i]);
    if (subscriber == nullptr) {
      return Error(ErrorCode::kInvalidArgument, "a subscriber of another transport");
    }
    items[i].socket = subscriber->socket();
    items[i].events = ZMQ_POLLIN;
  }
  const Nanoseconds remaining = std::max<Nanoseconds>(deadline.remaining(clock_), 0);
  const auto timeout_ms = static_cast<long>((remaining + kMillisecond - 1) / kMillisecond);
  const int ready = zmq_poll(items.data(), static_cast<int>(subscribers.size()), timeout_ms);
  if (ready < 0 && zmq_errno() != EINTR) return zmq_error("waiting for messages");
  return ready > 0;
}

}  // namespace modeld::ipc
