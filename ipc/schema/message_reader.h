// Framed messages in: limits, alignment and exceptions of Cap'n Proto are handled here, so that
// hostile bytes end in an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/base/result.h"

namespace capnp {
class MessageReader;
}

namespace modeld::ipc {

// The outside of an Event. `tag` is the union tag on the wire (facts 3.3).
struct EventHeader {
  uint64_t log_mono_time = 0;  // ns
  bool valid = false;
  uint16_t tag = 0;
};

// Name of the union member with this tag (newest names); "unknown" beyond the newest.
std::string_view event_kind(uint16_t tag);

// The tag of a member by its newest name or, for services that were renamed, by the old one.
std::optional<uint16_t> event_tag(std::string_view kind);

// Reads one message at a time. Not thread-safe. Allocates nothing for single-segment messages once
// an unaligned message of the largest size has been seen; several segments cost the library's
// segment table.
//
// A Cap'n Proto message is checked where it is read, pointer by pointer, so code that reads fields
// must run inside read_message() or read_event() of read_message.h (apart, because it is heavy).
class MessageReader {
 public:
  MessageReader();
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // Takes the message at the start of `bytes`, which must outlive the reading of it (until the next
  // open()). kCorrupt if the framing is wrong or the message is truncated. Bytes after the message
  // are ignored.
  Status open(std::span<const std::byte> bytes);

  // The outside of the opened message, as an Event. kCorrupt if it has no readable root.
  Result<EventHeader> event_header();

  // Of the opened message. For read_message.h.
  capnp::MessageReader& message();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace modeld::ipc
