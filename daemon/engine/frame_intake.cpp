#include "daemon/engine/frame_intake.h"

#include <algorithm>

namespace modeld {

void FrameIntake::accept(const ipc::Frame& frame, FrameCounters& counters) {
  const uint32_t id = frame.info.frame_id;
  if (last_id_ && frame.info.server_id == server_id_ && id > *last_id_) {
    counters.missed += id - *last_id_ - 1;
  }
  last_id_ = id;
  server_id_ = frame.info.server_id;
  ++counters.received;
}

Nanoseconds age_at_receive(const ipc::Frame& frame, const Clock& clock) {
  const Nanoseconds since_receive = clock.monotonic() - frame.info.receive_ns;
  const auto end_of_exposure = static_cast<Nanoseconds>(frame.info.timestamp_eof_ns);
  return std::max<Nanoseconds>(0, clock.boottime() - since_receive - end_of_exposure);
}

void report_pixel_path(std::optional<InputMode> mode, FrameInput asked, DaemonHealth& health) {
  if (!mode) return;
  const PixelPath path =
      *mode == InputMode::kBind ? PixelPath::kZeroCopyHostPointer : PixelPath::kHostUpload;
  if (path == health.pixel_path) return;
  health.pixel_path = path;
  const bool refused = asked == FrameInput::kZeroCopy && path == PixelPath::kHostUpload;
  health.pixel_path_text =
      refused ? "zero copy was asked for; the device cannot read the camera's buffers" : "";
}

HealthReason why_no_frame(const ipc::StreamState& stream) {
  return stream.connected ? HealthReason::kNoFrames : HealthReason::kNoCameraServer;
}

}  // namespace modeld
