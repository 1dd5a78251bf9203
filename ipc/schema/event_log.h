// A recorded log in memory: framed messages one after the other, without index or separators
// (facts 8.2). Decompression is somebody else's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/result.h"

namespace modeld::ipc {

// Walks the messages of a log. Borrows the bytes. A last message that is cut off, as after a crash,
// ends the walk and is counted, not an error.
class EventLog {
 public:
  explicit EventLog(std::span<const std::byte> bytes) : rest_(bytes) {}

  // The next whole message (framing included), nothing at the end. kCorrupt if a message has a
  // framing no writer makes; the log cannot be read past it, so later calls give the same error.
  Result<std::optional<std::span<const std::byte>>> next();

  uint64_t messages() const { return messages_; }
  // Bytes of the cut-off last message; 0 until the end is reached.
  uint64_t truncated_bytes() const { return truncated_bytes_; }

 private:
  std::span<const std::byte> rest_;
  uint64_t messages_ = 0;
  uint64_t truncated_bytes_ = 0;
};

}  // namespace modeld::ipc
