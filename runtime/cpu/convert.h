// Rows of half floats to float32 and back, the bits those of runtime/base/half.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/program/dtype.h"

namespace modeld::cpu {

// `type` is kFloat16 or kBFloat16.
void widen(DType type, const uint16_t* from, float* to, size_t count);
void narrow(DType type, const float* from, uint16_t* to, size_t count);
// Each element as it would be after narrow() and widen(); `to` may be `from`.
void round_to(DType type, const float* from, float* to, size_t count);

}  // namespace modeld::cpu
