// Packets of SOCK_SEQPACKET sockets, descriptors included: between our own processes and with the
// camera's frame server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld {

constexpr size_t kMaxPacketFds = 128;

// Every descriptor that arrives is owned from the moment it arrives.
struct FdPacket {
  std::vector<std::byte> bytes;  // empty: the peer closed
  std::vector<UniqueFd> fds;
};

// Sends one packet without blocking; the descriptors stay the caller's. kInvalidArgument for more
// than kMaxPacketFds, kExhausted if the peer does not read, else the system's refusal.
Status send_packet(int socket, std::span<const std::byte> bytes, std::span<const int> fds = {});

enum class PacketWait : uint8_t {
  kNone,     // nothing if no packet waits
  kForEver,  // whoever waits so is ended from outside
};

// kCorrupt for a packet of more than `max_bytes` or kMaxPacketFds.
Result<std::optional<FdPacket>> take_packet(int socket, size_t max_bytes, PacketWait wait);

}  // namespace modeld
