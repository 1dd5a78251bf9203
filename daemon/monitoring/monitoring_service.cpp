#include "daemon/monitoring/monitoring_service.h"

#include <utility>

#include "daemon/monitoring/monitoring_loop.h"
#include "daemon/service/camera_discovery.h"

namespace modeld::monitoring {

MonitoringService::MonitoringService(const DaemonConfig& config,
                                     const ServiceEnvironment& environment)
    : DaemonService(config, environment, ModelRole::kMonitoring, ipc::Role::kDmonitoringmodeld,
                    ipc::kDmonitoringmodeldHealthTopic) {}

// The stream connects by itself: there is nothing to wait for first.
Result<std::unique_ptr<FrameLoop>> MonitoringService::make_loop() {
  const CameraSettings& camera = config().camera;
  MODELD_ASSIGN(auto cabin, open_stream(camera, environment().socket_prefix, ipc::kCabinStream,
                                        true, environment().clock, transport()));
  LoopSettings settings;
  settings.cabin = camera.cabin;
  settings.driver_seat = camera.driver_seat;
  settings.raw_predictions = config().messages.raw_predictions;
  settings.names = names();
  settings.inference_deadline = config().deadlines.inference;
  MODELD_ASSIGN(auto loop, MonitoringLoop::create(loop_environment(), settings, std::move(cabin)));
  return std::unique_ptr<FrameLoop>(std::move(loop));
}

}  // namespace modeld::monitoring
