// dmonitoringmodeld: the driver-monitoring model's daemon.
#include <memory>

#include "daemon/monitoring/monitoring_service.h"
#include "daemon/service/daemon_main.h"

int main(int argc, char** argv) {
  using modeld::monitoring::MonitoringService;
  return modeld::daemon_main(argc, argv, modeld::DaemonKind::kDmonitoringmodeld,
                             [](const auto& config, const auto& environment) {
                               return std::make_unique<MonitoringService>(config, environment);
                             });
}
