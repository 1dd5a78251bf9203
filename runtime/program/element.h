// One element of a tensor's bytes as a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/program/dtype.h"

namespace modeld {

// `index` counts elements; the bytes need no alignment. Exact for every type but i64 and u64 beyond
// 2^53. Not for kNv12 (a frame is no list of elements).
double element_at(std::span<const std::byte> bytes, DType dtype, int64_t index);

}  // namespace modeld
