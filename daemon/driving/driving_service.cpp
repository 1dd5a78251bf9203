#include "daemon/driving/driving_service.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "daemon/driving/driving_loop.h"
#include "daemon/inputs/car_params.h"
#include "daemon/service/camera_discovery.h"

namespace modeld::driving {

DrivingService::DrivingService(const DaemonConfig& config, const ServiceEnvironment& environment)
    : DaemonService(config, environment, ModelRole::kDriving, ipc::Role::kModeld,
                    ipc::kModeldHealthTopic) {}

Result<std::unique_ptr<FrameLoop>> DrivingService::make_loop() {
  CarParamsValues car;
  MODELD_TRY(wait_for("waiting for CarParams", [&]() -> Result<Answer> {
    MODELD_ASSIGN(auto read, read_car_params(config().inputs.params_dir));
    if (read) car = std::move(*read);
    return Answer{read.has_value(), HealthReason::kStartUp};
  }));
  spdlog::info("car=\"{}\" longitudinalActuatorDelay={} s", car.brand,
               car.longitudinal_actuator_delay);

  std::optional<RoadStreams> streams;
  MODELD_TRY(wait_for("waiting for the road cameras", [&]() -> Result<Answer> {
    MODELD_ASSIGN(
        const RoadDiscovery discovery,
        discover_road_cameras(config().camera, environment().socket_prefix, environment().clock));
    streams = discovery.found;
    return Answer{streams.has_value(), discovery.why};
  }));

  const CameraSettings& camera = config().camera;
  const auto open = [&](uint32_t type, bool conflate) {
    return open_stream(camera, environment().socket_prefix, type, conflate, environment().clock,
                       transport());
  };
  const bool wide_only = *streams == RoadStreams::kWideOnly;
  MODELD_ASSIGN(auto main, open(wide_only ? ipc::kWideRoadStream : ipc::kNarrowRoadStream, true));
  std::unique_ptr<ipc::FrameStream> extra;
  if (*streams == RoadStreams::kNarrowAndWide) {
    MODELD_ASSIGN(extra, open(ipc::kWideRoadStream, false));
  }
  LoopSettings settings;
  settings.streams = *streams;
  settings.narrow = camera.narrow_road;
  settings.wide = camera.wide_road;
  settings.names = names();
  settings.inference_deadline = config().deadlines.inference;
  settings.raw_predictions = config().messages.raw_predictions;
  settings.refuse_stale_inputs = config().inputs.stale == StaleInputs::kInvalid;
  settings.longitudinal_actuator_delay = car.longitudinal_actuator_delay;
  MODELD_ASSIGN(auto loop, DrivingLoop::create(loop_environment(), settings, std::move(main),
                                               std::move(extra)));
  return std::unique_ptr<FrameLoop>(std::move(loop));
}

}  // namespace modeld::driving
