#include "ipc/frames/vision_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ipc/frames/fd_socket.h"
#include "ipc/transport/topics.h"

namespace modeld::ipc {
namespace {

constexpr int kBacklog = 16;
constexpr int kAnswerTimeMs = 100;

}  // namespace

// Anonymous shared memory: the picture and the frame id behind it. Sealed against shrinking, so
// that no client can be made to fault.
class VisionServer::Buffer {
 public:
  static Result<std::unique_ptr<Buffer>> make(uint64_t length) {
    UniqueFd fd(::memfd_create("visionipc", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd.valid()) return errno_error("memfd_create", errno);
    const uint64_t size = length + kTrailingIdBytes;
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
      return errno_error("ftruncate", errno);
    if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
      return errno_error("sealing a buffer", errno);
    }
    void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (start == MAP_FAILED) return errno_error("mapping a buffer", errno);
    return std::unique_ptr<Buffer>(
        new Buffer(std::move(fd), static_cast<std::byte*>(start), length));
  }
  ~Buffer() { ::munmap(start_, length_ + kTrailingIdBytes); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  int fd() const { return fd_.get(); }
  std::span<std::byte> picture() const { return {start_, length_}; }
  void write_frame_id(uint64_t id) {
    // The picture is complete for every reader that sees the id.
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(start_ + length_, &id, sizeof(id));
  }

 private:
  Buffer(UniqueFd fd, std::byte* start, uint64_t length)
      : fd_(std::move(fd)), start_(start), length_(length) {}

  UniqueFd fd_;
  std::byte* start_;
  uint64_t length_;
};

Result<std::unique_ptr<VisionServer>> VisionServer::create(Transport& transport,
                                                           VisionServerOptions options) {
  MODELD_ASSIGN(auto path, vision_socket_path(options.socket_dir, options.prefix, options.server));
  uint64_t server_id = 0;
  if (::getrandom(&server_id, sizeof(server_id), 0) != sizeof(server_id)) {
    return errno_error("getrandom", errno);
  }
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return errno_error("eventfd", errno);
  return std::unique_ptr<VisionServer>(
      new VisionServer(transport, std::move(options), std::move(path), server_id, std::move(stop)));
}

VisionServer::VisionServer(Transport& transport, VisionServerOptions options,
                           std::filesystem::path path, uint64_t server_id, UniqueFd stop)
    : transport_(transport),
      options_(std::move(options)),
      path_(std::move(path)),
      server_id_(server_id),
      stop_(std::move(stop)) {}

VisionServer::~VisionServer() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

Status VisionServer::add_stream(uint32_t type, const Nv12Layout& layout, size_t count) {
  MODELD_TRY(layout.check());
  if (count == 0 || count > kMaxBuffers) {
    return Error(ErrorCode::kInvalidArgument, "number of buffers out of range")
        .expecting("1 to " + std::to_string(kMaxBuffers), std::to_string(count));
  }
  if (thread_.joinable() || type == options_.list_request || streams_.count(type) != 0) {
    return Error(ErrorCode::kInvalidArgument,
                 "stream " + std::to_string(type) + " cannot be added (again, or too late)");
  }
  Stream stream;
  MODELD_ASSIGN(stream.notifications,
                transport_.publisher(notification_topic(options_.server, type)));
  for (size_t i = 0; i < count; ++i) {
    MODELD_ASSIGN(auto buffer, Buffer::make(layout.length));
    stream.buffers.push_back(std::move(buffer));
    stream.records.push_back(
        {layout.length, layout.length + kTrailingIdBytes, layout, server_id_, i, type});
  }
  streams_.emplace(type, std::move(stream));
  return {};
}

Status VisionServer::start() {
  MODELD_ASSIGN(listener_, UnixListener::listen(path_, SOCK_SEQPACKET, kBacklog));
  thread_ = std::thread([this] { serve(); });
  return {};
}

std::span<std::byte> VisionServer::next_buffer(uint32_t type) {
  const auto found = streams_.find(type);
  if (found == streams_.end()) return {};
  return found->second.buffers[found->second.next]->picture();
}

Status VisionServer::publish(uint32_t type, uint32_t frame_id, uint64_t timestamp_sof_ns,
                             uint64_t timestamp_eof_ns) {
  const auto found = streams_.find(type);
  if (found == streams_.end()) {
    return Error(ErrorCode::kNotFound, "no stream " + std::to_string(type));
  }
  Stream& stream = found->second;
  stream.buffers[stream.next]->write_frame_id(frame_id);
  const auto packet = encode_notification(
      {server_id_, stream.next, frame_id, timestamp_sof_ns, timestamp_eof_ns, false});
  stream.next = (stream.next + 1) % stream.buffers.size();
  return stream.notifications->send(packet);
}

// True when `fd` is readable; false when the server is to stop or, for a client's socket, when the
// client dawdles.
bool VisionServer::wait_for(int fd) {
  pollfd items[] = {{stop_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  const bool patient = fd == listener_.fd();
  int ready;
  do {
    ready = ::poll(items, 2, patient ? -1 : kAnswerTimeMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && items[0].revents == 0;
}

void VisionServer::serve() {
  while (wait_for(listener_.fd())) {
    const UniqueFd socket(
        ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid() && wait_for(socket.get())) answer(socket.get());
  }
}

void VisionServer::answer(int socket) {
  std::array<std::byte, sizeof(uint32_t) + 1> request;
  const ssize_t size = ::recv(socket, request.data(), request.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (size != sizeof(uint32_t)) return;
  uint32_t type;
  std::memcpy(&type, request.data(), sizeof(type));
  // A client that has gone in the meantime is its own problem: nothing to do about a failed answer.
  if (type == options_.list_request) {
    static_cast<void>(answer_list(socket));
  } else if (const auto found = streams_.find(type); found != streams_.end()) {
    static_cast<void>(answer_stream(socket, found->second));
  }
}

Status VisionServer::answer_list(int socket) {
  std::vector<uint32_t> types;
  for (const auto& [type, stream] : streams_) types.push_back(type);
  return send_packet(socket, std::as_bytes(std::span(types)), {});
}

Status VisionServer::answer_stream(int socket, const Stream& stream) {
  std::vector<std::byte> reply;
  std::vector<int> fds;
  for (size_t i = 0; i < stream.buffers.size(); ++i) {
    encode_record(stream.records[i], options_.format, reply);
    fds.push_back(stream.buffers[i]->fd());
  }
  return send_packet(socket, reply, fds);
}

}  // namespace modeld::ipc
