#include "daemon/service/camera_discovery.h"

#include <algorithm>
#include <utility>

#include "ipc/frames/vision_client.h"
#include "ipc/frames/vision_protocol.h"

namespace modeld {
namespace {

constexpr Nanoseconds kListDeadline = 100 * kMillisecond;

}  // namespace

Result<RoadDiscovery> discover_road_cameras(const CameraSettings& camera, const std::string& prefix,
                                            const Clock& clock) {
  MODELD_ASSIGN(const auto path, ipc::vision_socket_path(camera.socket_dir, prefix, camera.server));
  const auto streams = ipc::list_streams(path, clock, Deadline::after(clock, kListDeadline));
  // Whatever is wrong with the server now may be right in a moment.
  if (!streams.ok()) return RoadDiscovery{std::nullopt, HealthReason::kNoCameraServer};
  const auto has = [&](uint32_t type) {
    return std::find(streams->begin(), streams->end(), type) != streams->end();
  };
  const bool narrow = has(ipc::kNarrowRoadStream);
  const bool wide = has(ipc::kWideRoadStream);
  if (!narrow && !wide) return RoadDiscovery{std::nullopt, HealthReason::kNoSuchStream};
  if (narrow && wide) return RoadDiscovery{RoadStreams::kNarrowAndWide, HealthReason::kNone};
  return RoadDiscovery{narrow ? RoadStreams::kNarrowOnly : RoadStreams::kWideOnly,
                       HealthReason::kNone};
}

Result<std::unique_ptr<ipc::FrameStream>> open_stream(const CameraSettings& camera,
                                                      const std::string& prefix, uint32_t type,
                                                      bool conflate, const Clock& clock,
                                                      ipc::Transport& transport) {
  ipc::VisionClientOptions options;
  options.socket_dir = camera.socket_dir;
  options.prefix = prefix;
  options.server = camera.server;
  options.stream_type = type;
  options.conflate = conflate;
  options.guard = camera.guard_frames;
  options.late_frames = camera.late_frames;
  MODELD_ASSIGN(auto client, ipc::VisionClient::create(clock, transport, std::move(options)));
  return std::unique_ptr<ipc::FrameStream>(std::move(client));
}

}  // namespace modeld
