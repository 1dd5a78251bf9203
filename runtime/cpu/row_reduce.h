// Sums and extremes of float32 rows in a fixed order: sixteen running values, then a tree, so that
// the result does not depend on the instruction set or on threads.
#pragma once

#include <cstdint>

#include "runtime/cpu/simd.h"
#include "runtime/cpu/vector_math.h"

namespace modeld::cpu {

constexpr int64_t kLanes = 16;

// combine(combine(.., f(row[0])), ..) starting from `start`; `combine` is associative.
template <typename Function, typename Combine>
MODELD_ALWAYS_INLINE inline float reduce_row(const float* row, int64_t count, float start,
                                             const Function& function, const Combine& combine) {
  float lanes[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = start;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = combine(lanes[lane], function(row[i + lane]));
    }
  }
  for (int64_t lane = 0; i + lane < count; ++lane) {
    lanes[lane] = combine(lanes[lane], function(row[i + lane]));
  }
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t lane = 0; lane < width; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + width]);
    }
  }
  return lanes[0];
}

struct Same {
  MODELD_ALWAYS_INLINE float operator()(float x) const { return x; }
};
struct Sum {
  MODELD_ALWAYS_INLINE float operator()(float a, float b) const { return a + b; }
};
// A NaN on either side stays.
struct Larger {
  MODELD_ALWAYS_INLINE float operator()(float a, float b) const {
    return math::choose(a != a, a, math::choose(b != b, b, math::choose(a > b, a, b)));
  }
};
struct Smaller {
  MODELD_ALWAYS_INLINE float operator()(float a, float b) const {
    return math::choose(a != a, a, math::choose(b != b, b, math::choose(a < b, a, b)));
  }
};

}  // namespace modeld::cpu
