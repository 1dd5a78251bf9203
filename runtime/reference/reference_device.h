// The plain, exact, slow backend: the numerical truth the others are measured against.
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace modeld {

// Each op runs as one plain loop nest with accumulation in double (floats) or modulo 2^64
// (integers), and its result is rounded to the tensor's type; nothing is fused. Each capture has
// one thread of its own. Always succeeds.
std::unique_ptr<Device> open_reference_device();

}  // namespace modeld
