#include "runtime/base/fd_packet.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace modeld {
namespace {

// Room for the descriptors of one packet; more would be cut off by the kernel and refused.
struct ControlBuffer {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPacketFds)> bytes{};
};

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

}  // namespace

Status send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  if (fds.size() > kMaxPacketFds) {
    return Error(ErrorCode::kInvalidArgument, "too many descriptors for one packet")
        .expecting("at most " + std::to_string(kMaxPacketFds), std::to_string(fds.size()));
  }
  ControlBuffer control;
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  if (errno == EAGAIN) return Error(ErrorCode::kExhausted, "the peer takes no packets");
  return errno_error("sending a packet", errno);
}

Result<std::optional<FdPacket>> take_packet(int socket, size_t max_bytes, PacketWait wait) {
  FdPacket packet;
  packet.fds.reserve(kMaxPacketFds);  // so that no descriptor is lost between the kernel and us
  packet.bytes.resize(max_bytes);
  ControlBuffer control;
  iovec data{packet.bytes.data(), packet.bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const int flags = MSG_CMSG_CLOEXEC | (wait == PacketWait::kNone ? MSG_DONTWAIT : 0);
  ssize_t size;
  do {
    size = ::recvmsg(socket, &message, flags);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return std::optional<FdPacket>();
  if (size < 0 && errno != ECONNRESET) return errno_error("receiving a packet", errno);
  if (size >= 0) take_descriptors(message, packet.fds);
  packet.bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (size >= 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return Error(ErrorCode::kCorrupt, "the packet was cut short")
        .expecting("at most " + std::to_string(max_bytes) + " bytes and " +
                       std::to_string(kMaxPacketFds) + " descriptors",
                   "more");
  }
  return std::optional(std::move(packet));
}

}  // namespace modeld
