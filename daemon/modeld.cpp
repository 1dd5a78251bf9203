// modeld: the road model's daemon.
#include <memory>

#include "daemon/driving/driving_service.h"
#include "daemon/service/daemon_main.h"

int main(int argc, char** argv) {
  using modeld::driving::DrivingService;
  return modeld::daemon_main(argc, argv, modeld::DaemonKind::kModeld,
                             [](const auto& config, const auto& environment) {
                               return std::make_unique<DrivingService>(config, environment);
                             });
}
