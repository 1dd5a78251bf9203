// dmonitoringmodeld as a service.
#pragma once

#include "daemon/service/daemon_service.h"

namespace modeld::monitoring {

class MonitoringService final : public DaemonService {
 public:
  MonitoringService(const DaemonConfig& config, const ServiceEnvironment& environment);

 protected:
  Result<std::unique_ptr<FrameLoop>> make_loop() override;
};

}  // namespace modeld::monitoring
