// Messages out: one builder whose memory is used again for every message.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/base/result.h"

namespace capnp {
class MessageBuilder;
}

namespace modeld::ipc {

// Builds one message at a time. Not thread-safe. Allocates nothing as long as messages fit
// `segment_bytes`; a larger one still works (in several segments) and costs allocations.
//
//   auto event = writer.begin().initRoot<wire::Event>();   // in a .cpp with log.capnp.h
//   event.setLogMonoTime(...);
//   MODELD_ASSIGN(const auto bytes, writer.finish());
class MessageWriter {
 public:
  explicit MessageWriter(size_t segment_bytes);
  ~MessageWriter();
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  // Forgets the message before and starts an empty one. The reference is good until the next
  // begin().
  capnp::MessageBuilder& begin();

  // The message begun, framed; the bytes are 8-byte aligned and good until the next finish().
  // kExhausted above kMaxMessageBytes.
  Result<std::span<const std::byte>> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace modeld::ipc
