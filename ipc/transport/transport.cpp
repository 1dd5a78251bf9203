#include "ipc/transport/transport.h"

#include <string>

namespace modeld::ipc {

Status check_message_size(size_t bytes) {
  if (bytes > 0 && bytes <= kMaxMessageBytes) return {};
  return Error(ErrorCode::kInvalidArgument, "a message of this size cannot be sent")
      .expecting("1 to " + std::to_string(kMaxMessageBytes) + " bytes", std::to_string(bytes));
}

}  // namespace modeld::ipc
