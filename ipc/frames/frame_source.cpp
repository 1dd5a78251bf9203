#include "ipc/frames/frame_source.h"

#include <algorithm>

namespace modeld::ipc {

FrameCheck check_frame(const FrameInfo& info, uint64_t trailing_frame_id,
                       uint32_t newest_notified_id, uint32_t num_buffers, uint32_t guard) {
  if (trailing_frame_id != info.frame_id) return FrameCheck::kOverwritten;
  // Wrapping difference; negative when ids start again from a lower number.
  const auto behind = static_cast<int32_t>(newest_notified_id - info.frame_id);
  const auto allowed = std::max(static_cast<int32_t>(num_buffers) - static_cast<int32_t>(guard), 1);
  return behind >= allowed ? FrameCheck::kLapped : FrameCheck::kIntact;
}

}  // namespace modeld::ipc
