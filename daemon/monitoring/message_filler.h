// Writes driverStateV2. Source: facts 5.7; the invalid form is ours (architecture, section 9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/monitoring/driver_outputs.h"
#include "ipc/schema/message_writer.h"

namespace modeld::monitoring {

struct FrameFacts {
  uint64_t log_mono_time = 0;       // ns, CLOCK_MONOTONIC
  uint32_t frame_id = 0;            // cabin camera
  double execution_time = 0.0;      // s, of the whole run
  double gpu_execution_time = 0.0;  // s, inside the run
};

// Not thread-safe. The bytes are good until the next message. Allocates nothing after construction
// as long as raw predictions stay within `most_raw_bytes`.
class MessageFiller {
 public:
  using Bytes = std::span<const std::byte>;

  explicit MessageFiller(size_t most_raw_bytes = 0);

  // `raw`: float32 bytes of the output before parsing; empty unless asked for.
  Result<Bytes> driver_state_v2(const FrameFacts& facts, const MonitoringOutputs& outputs,
                                Bytes raw = {});
  // valid is false, the facts are there, nothing else is.
  Result<Bytes> invalid_driver_state_v2(const FrameFacts& facts);

 private:
  ipc::MessageWriter writer_;
};

}  // namespace modeld::monitoring
