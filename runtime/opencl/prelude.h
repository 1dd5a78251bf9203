// Functions that generated kernels share.
#pragma once

#include <string>

#include "runtime/opencl/traits.h"

namespace modeld::opencl {

// Stands in front of every program.
std::string prelude(const Traits& traits);

}  // namespace modeld::opencl
