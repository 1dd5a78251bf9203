#include "ipc/frames/fd_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ipc/frames/vision_protocol.h"
#include "ipc/transport/unix_listener.h"

namespace modeld::ipc {
namespace {

static_assert(kMaxBuffers <= kMaxPacketFds);

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
  MODELD_ASSIGN(auto packet, take_packet(socket.get(), max_bytes, PacketWait::kNone));
  if (!packet) return dawdled().in(path.string());
  return std::move(*packet);
}

}  // namespace modeld::ipc
