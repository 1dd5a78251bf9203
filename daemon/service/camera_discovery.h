// Finds the cameras there are. Source: interoperability facts 7.1.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/daemon_config.h"
#include "daemon/health/health_state.h"
#include "daemon/inputs/road_transforms.h"
#include "ipc/frames/frame_source.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// One question to the camera server. `found` is nothing while the server, or a stream we can use,
// is missing; `why` says which.
struct RoadDiscovery {
  std::optional<RoadStreams> found;
  HealthReason why = HealthReason::kNoCameraServer;
};
Result<RoadDiscovery> discover_road_cameras(const CameraSettings& camera, const std::string& prefix,
                                            const Clock& clock);

// A stream of the configured server; connects by itself when the server is there.
Result<std::unique_ptr<ipc::FrameStream>> open_stream(const CameraSettings& camera,
                                                      const std::string& prefix, uint32_t type,
                                                      bool conflate, const Clock& clock,
                                                      ipc::Transport& transport);

}  // namespace modeld
