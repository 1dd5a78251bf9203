// Softmax of one row of float32.
#pragma once

#include <cstdint>

#include "runtime/cpu/row_reduce.h"

namespace modeld::cpu {

// `out` may be `in`.
MODELD_ALWAYS_INLINE inline void softmax_row(const float* in, float* out, int64_t count) {
  const float most = reduce_row(in, count, -math::kInfinity, Same{}, Larger{});
  for (int64_t i = 0; i < count; ++i) out[i] = math::exp(in[i] - most);
  const float scale = 1.0f / reduce_row(out, count, 0.0f, Same{}, Sum{});
  for (int64_t i = 0; i < count; ++i) out[i] *= scale;
}

}  // namespace modeld::cpu
