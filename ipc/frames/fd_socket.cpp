#include "ipc/frames/fd_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "ipc/frames/vision_protocol.h"
#include "ipc/transport/unix_listener.h"

namespace modeld::ipc {
namespace {

// Room for the descriptors of one packet; more would be cut off by the kernel and refused.
struct ControlBuffer {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxBuffers)> bytes{};
};

Result<UniqueFd> connect_socket(const std::filesystem::path& path) {
  MODELD_TRY(check_socket_path(path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return errno_error("socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), kMaxSocketPath);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return fd;
  }
  if (errno == ENOENT || errno == ECONNREFUSED) {
    return Error(ErrorCode::kNotFound,
                 errno == ENOENT ? "no frame server (no socket)" : "no frame server (stale socket)")
        .in(path.string());
  }
  if (errno == EAGAIN) {
    return Error(ErrorCode::kDeadline, "the frame server has too many callers").in(path.string());
  }
  return errno_error("connect", errno).in(path.string());
}

void take_descriptors(msghdr& message, std::vector<UniqueFd>& fds) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
      fds.emplace_back(fd);
    }
  }
}

Result<FdPacket> take_packet(int socket, size_t max_bytes) {
  FdPacket packet;
  packet.fds.reserve(kMaxBuffers);  // so that no descriptor is lost between the kernel and us
  packet.bytes.resize(max_bytes);
  ControlBuffer control;
  iovec data{packet.bytes.data(), packet.bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0 && errno != ECONNRESET) return errno_error("recvmsg", errno);
  if (size >= 0) take_descriptors(message, packet.fds);
  packet.bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (size >= 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Error(ErrorCode::kCorrupt, "the reply was cut short")
        .expecting("at most " + std::to_string(max_bytes) + " bytes and " +
                       std::to_string(kMaxBuffers) + " descriptors",
                   "more");
  }
  return packet;
}

Error dawdled() {
  return {ErrorCode::kDeadline, "the frame server did not answer in time"};
}

}  // namespace

Result<bool> poll_fd(int fd, short events, const Clock& clock, Deadline deadline) {
  const Nanoseconds remaining = std::max<Nanoseconds>(deadline.remaining(clock), 0);
  const auto timeout = static_cast<int>(
      std::min<Nanoseconds>((remaining + kMillisecond - 1) / kMillisecond, 60 * 1000));
  pollfd item{fd, events, 0};
  const int ready = ::poll(&item, 1, timeout);
  if (ready < 0 && errno != EINTR) return errno_error("poll", errno);
  return ready > 0;
}

Result<FdPacket> request_packet(const std::filesystem::path& path, uint32_t request,
                                size_t max_bytes, const Clock& clock, Deadline deadline) {
  MODELD_ASSIGN(const UniqueFd socket, connect_socket(path));
  if (::send(socket.get(), &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(sizeof(request))) {
    return errno_error("sending the request", errno).in(path.string());
  }
  MODELD_ASSIGN(const bool ready, poll_fd(socket.get(), POLLIN, clock, deadline));
  if (!ready) return dawdled().in(path.string());
  return take_packet(socket.get(), max_bytes);
}

Status send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  if (fds.size() > kMaxBuffers) {
    return Error(ErrorCode::kInvalidArgument, "too many descriptors for one packet")
        .expecting("at most " + std::to_string(kMaxBuffers), std::to_string(fds.size()));
  }
  ControlBuffer control;
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  return errno_error("sendmsg", errno);
}

}  // namespace modeld::ipc
