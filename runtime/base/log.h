// Log set-up. Rooms log through spdlog's default logger; never from the hot path.
#pragma once

#include <string_view>

#include "runtime/base/result.h"

namespace modeld {

// Sends spdlog's default logger to stderr as `level name key=value ...` lines (the journal adds
// the time). `level`: trace, debug, info, warn, error, off. Call once, before threads start.
Status set_up_log(std::string_view program, std::string_view level);

}  // namespace modeld
