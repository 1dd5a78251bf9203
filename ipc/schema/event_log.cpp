#include "ipc/schema/event_log.h"

#include <string>

#include "ipc/schema/framing.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {

Result<std::optional<std::span<const std::byte>>> EventLog::next() {
  auto framing = read_framing(rest_, kMaxMessageBytes);
  if (!framing.ok()) {
    return std::move(framing).error().in("message " + std::to_string(messages_));
  }
  if (!*framing) {
    truncated_bytes_ = rest_.size();
    return std::optional<std::span<const std::byte>>();
  }
  const auto message = rest_.first((*framing)->total_bytes);
  rest_ = rest_.subspan((*framing)->total_bytes);
  ++messages_;
  return std::optional<std::span<const std::byte>>(message);
}

}  // namespace modeld::ipc
