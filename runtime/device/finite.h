// Are the numbers of a tensor finite? For states, which nobody else looks at before they are
// committed.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/program/dtype.h"

namespace modeld {

// How many elements of `bytes` are infinite or not a number; 0 for types that cannot be. Saturates.
uint32_t count_not_finite(DType dtype, std::span<const std::byte> bytes);

}  // namespace modeld
