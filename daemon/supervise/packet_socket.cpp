#include "daemon/supervise/packet_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>

namespace modeld::supervise {
Result<std::pair<UniqueFd, UniqueFd>> packet_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return errno_error("making a pair of sockets", errno);
  }
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Packet> receive_packet(int socket) {
  MODELD_ASSIGN(auto packet, take_packet(socket, kMaxPacketBytes, PacketWait::kForEver));
  if (!packet) return Error(ErrorCode::kInternal, "a blocking socket that does not block");
  return Packet{std::move(*packet)};
}

Result<std::vector<Packet>> receive_waiting(int socket) {
  std::vector<Packet> all;
  while (true) {
    MODELD_ASSIGN(auto packet, take_packet(socket, kMaxPacketBytes, PacketWait::kNone));
    if (!packet || packet->bytes.empty()) return all;
    all.push_back(Packet{std::move(*packet)});
  }
}

Error wrong_packet(size_t expected, size_t found) {
  return Error(ErrorCode::kCorrupt, "packet of another length")
      .expecting(std::to_string(expected) + " bytes", std::to_string(found));
}

}  // namespace modeld::supervise
