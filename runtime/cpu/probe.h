// What this processor can do.
#pragma once

#include "runtime/device/capabilities.h"

namespace modeld::cpu {

DeviceCapabilities probe_cpu();

}  // namespace modeld::cpu
