// What a process tells its caller: the same numbers for modelctl and the daemons.
#pragma once

#include "runtime/base/error.h"

namespace modeld {

constexpr int kExitOk = 0;  // also after SIGTERM
constexpr int kExitCheckFailed = 1;
constexpr int kExitUsage = 2;  // command line, configuration, a file that cannot be read or written
constexpr int kExitRefused = 3;  // the artifact (or the network it should be made of)
constexpr int kExitDevice = 4;
constexpr int kExitDeadline = 5;  // deadline or stall
constexpr int kExitInterrupted = 130;

int exit_code(ErrorCode code);

}  // namespace modeld
