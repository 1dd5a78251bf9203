// One request and one reply over a SEQPACKET socket, descriptors included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "runtime/base/clock.h"
#include "runtime/base/fd_packet.h"
#include "runtime/base/result.h"

namespace modeld::ipc {

// Connects to `path`, sends the four bytes of `request`, takes one packet of at most `max_bytes`
// and kMaxBuffers descriptors, and closes. kNotFound if nobody serves the path, kDeadline if the
// peer dawdles, kCorrupt if the packet was cut short.
Result<FdPacket> request_packet(const std::filesystem::path& path, uint32_t request,
                                size_t max_bytes, const Clock& clock, Deadline deadline);

// Waits until `fd` shows one of `events` (poll's) or an error: true; false at the deadline or when
// a signal arrives.
Result<bool> poll_fd(int fd, short events, const Clock& clock, Deadline deadline);

}  // namespace modeld::ipc
