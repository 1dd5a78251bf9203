// What both mains do: command line, configuration, log, signals, exit code.
#pragma once

#include <functional>
#include <memory>

#include "config/daemon_config.h"
#include "daemon/service/daemon_service.h"

namespace modeld {

using MakeService =
    std::function<std::unique_ptr<DaemonService>(const DaemonConfig&, const ServiceEnvironment&)>;

// The exit codes are those of runtime/base/exit_codes.h. Catches everything.
int daemon_main(int argc, char** argv, DaemonKind kind, const MakeService& make);

}  // namespace modeld
