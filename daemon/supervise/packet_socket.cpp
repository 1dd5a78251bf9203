#include "daemon/supervise/packet_socket.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>

namespace modeld::supervise {
namespace {

struct ControlBuffer {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxPacketDescriptors)> bytes{};
};

// Nothing if `flags` say not to wait and no packet waits.
Result<std::optional<Packet>> receive(int socket, int flags) {
  Packet packet;
  packet.bytes.resize(kMaxPacketBytes);
  packet.fds.reserve(kMaxPacketDescriptors);
  ControlBuffer control;
  iovec data{packet.bytes.data(), packet.bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t size;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == EAGAIN) return std::optional<Packet>();
  if (size < 0 && errno != ECONNRESET) return errno_error("receiving a packet", errno);
  for (cmsghdr* header = size < 0 ? nullptr : CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      packet.fds.emplace_back(fd);
    }
  }
  packet.bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return std::optional(std::move(packet));
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> packet_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno_error("making a pair of sockets", errno);
  }
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Status send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
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
  const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  if (errno == EAGAIN) return Error(ErrorCode::kExhausted, "the peer takes no packets");
  return errno_error("sending a packet", errno);
}

Result<Packet> receive_packet(int socket) {
  MODELD_ASSIGN(auto packet, receive(socket, 0));
  if (!packet) return Error(ErrorCode::kInternal, "a blocking socket that does not block");
  return std::move(*packet);
}

Result<std::vector<Packet>> receive_waiting(int socket) {
  std::vector<Packet> all;
  while (true) {
    MODELD_ASSIGN(auto packet, receive(socket, MSG_DONTWAIT));
    if (!packet || packet->bytes.empty()) return all;
    all.push_back(std::move(*packet));
  }
}

Error wrong_packet(size_t expected, size_t found) {
  return Error(ErrorCode::kCorrupt, "packet of another length")
      .expecting(std::to_string(expected) + " bytes", std::to_string(found));
}

}  // namespace modeld::supervise
