// modeld as a service: waits for the car's parameters and the road cameras.
#pragma once

#include "daemon/service/daemon_service.h"

namespace modeld::driving {

class DrivingService final : public DaemonService {
 public:
  DrivingService(const DaemonConfig& config, const ServiceEnvironment& environment);

 protected:
  Result<std::unique_ptr<FrameLoop>> make_loop() override;
};

}  // namespace modeld::driving
