// Small packets with descriptors between our own processes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/fd_packet.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::supervise {

constexpr size_t kMaxPacketBytes = 4096;

// A connected pair (SOCK_SEQPACKET, close-on-exec).
Result<std::pair<UniqueFd, UniqueFd>> packet_pair();

struct Packet : FdPacket {
  // The packet as a T, which is trivially copyable; kCorrupt for another length.
  template <typename T>
  Result<T> as() const;
};

// Waits without a limit; who waits here is ended from outside.
Result<Packet> receive_packet(int socket);
// Nothing if no packet waits.
Result<std::vector<Packet>> receive_waiting(int socket);

Error wrong_packet(size_t expected, size_t found);

template <typename T>
Result<T> Packet::as() const {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() != sizeof(T)) return wrong_packet(sizeof(T), bytes.size());
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename T>
std::span<const std::byte> packet_bytes(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxPacketBytes);
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace modeld::supervise
