// Reading the fields of a message. Heavy: include it in .cpp files only.
#pragma once

#include <capnp/message.h>
#include <kj/exception.h>

#include <utility>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_reader.h"

namespace modeld::ipc {

// The error of an exception thrown while a message was read.
Error message_error(const kj::Exception& exception);

// Opens `bytes` and calls `use` with its root, a `Root::Reader`. Whatever Cap'n Proto finds wrong
// while `use` reads comes back as kCorrupt; `use` must keep nothing that points into the message.
// `use` must not throw anything else.
template <typename Root, typename Use>
Status read_message(MessageReader& reader, std::span<const std::byte> bytes, Use&& use) {
  MODELD_TRY(reader.open(bytes));
  try {
    std::forward<Use>(use)(reader.message().getRoot<Root>());
    return {};
  } catch (const kj::Exception& exception) {
    return message_error(exception);
  }
}

// The usual case. `use(wire::Event::Reader)`; an event.which() above the newest is to be ignored.
template <typename Use>
Status read_event(MessageReader& reader, std::span<const std::byte> bytes, Use&& use) {
  return read_message<wire::Event>(reader, bytes, std::forward<Use>(use));
}

}  // namespace modeld::ipc
