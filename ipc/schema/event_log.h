// A recorded log in memory: framed messages one after the other, without index or separators
// (facts 8.2). Decompression is somebody else's business (tools/replay/log_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace modeld::ipc {

// What a log held besides whole messages.
struct LogLosses {
  uint64_t too_large = 0;          // messages above kMaxMessageBytes, passed over
  uint64_t too_many_segments = 0;  // messages above kMaxSegments, passed over
  uint64_t malformed = 0;          // stretches that are no message; the next one was looked for
  uint64_t skipped_bytes = 0;      // in the three above
  uint64_t truncated_bytes = 0;    // of a last message that is cut off, as after a crash

  // True if more than a cut-off tail is missing.
  bool damaged() const { return too_large + too_many_segments + malformed != 0; }
};

// Walks the messages of a log. Borrows the bytes. What is no message of ours is passed over and
// counted; the walk goes on at the next one: behind a message that only breaks a limit, else at the
// next place that looks like the start of an Event (a whole framing within the limits whose first
// segment begins with the root pointer every Event has). Whether a message decodes is the reader's
// question. Linear in the size of the log.
class EventLog {
 public:
  explicit EventLog(std::span<const std::byte> bytes) : rest_(bytes) {}

  // The next whole message (framing included), nothing at the end.
  std::optional<std::span<const std::byte>> next();

  uint64_t messages() const { return messages_; }
  // Complete once next() has returned nothing.
  const LogLosses& losses() const { return losses_; }

 private:
  void pass_over(uint64_t bytes);
  // Past the place where `rest_` cannot be read; false if nothing readable follows.
  bool recover();

  std::span<const std::byte> rest_;
  uint64_t messages_ = 0;
  LogLosses losses_;
};

}  // namespace modeld::ipc
