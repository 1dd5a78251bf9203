// Book-keeping of the frames a daemon accepts.
#pragma once

#include <cstdint>
#include <optional>

#include "config/daemon_config.h"
#include "daemon/health/daemon_health.h"
#include "ipc/frames/frame_source.h"
#include "runtime/base/clock.h"
#include "runtime/device/capture.h"

namespace modeld {

// Not thread-safe.
class FrameIntake {
 public:
  // Counts `frame` as received, and the ids between it and the last one of the same server as
  // missed. Frames before the first accepted one are nobody's loss.
  void accept(const ipc::Frame& frame, FrameCounters& counters);

 private:
  std::optional<uint32_t> last_id_;
  uint64_t server_id_ = 0;
};

// End of exposure -> notification taken, ns, on CLOCK_BOOTTIME; 0 if the camera's clock is ahead.
Nanoseconds age_at_receive(const ipc::Frame& frame, const Clock& clock);

// Says in `health` how pixels travel and, where zero copy was asked for and is not had, why.
void report_pixel_path(std::optional<InputMode> mode, FrameInput asked, DaemonHealth& health);

// What is missing when a stream gives no frame.
HealthReason why_no_frame(const ipc::StreamState& stream);

}  // namespace modeld
