// float32 functions of two elements.
#pragma once

#include <cstdint>

#include "runtime/cpu/simd.h"
#include "runtime/cpu/vector_math.h"
#include "runtime/program/op.h"

namespace modeld::cpu {

// Calls use(Out(), function) with the function of `kind`, which takes two floats and answers an Out
// (float, or uint8_t for comparisons). False for other kinds.
template <typename Use>
bool with_binary_function(OpKind kind, const Use& use) {
  using math::choose;
#define MODELD_BINARY(type, expression)                                                  \
  use(type(), [](float x, float y) MODELD_ALWAYS_INLINE -> type { return expression; }); \
  return true
  switch (kind) {
    case OpKind::kAdd:
      MODELD_BINARY(float, x + y);
    case OpKind::kSub:
      MODELD_BINARY(float, x - y);
    case OpKind::kMul:
      MODELD_BINARY(float, x* y);
    case OpKind::kDiv:
      MODELD_BINARY(float, x / y);
    case OpKind::kMax:
      MODELD_BINARY(float, choose(x != x, x, choose(y != y, y, choose(x > y, x, y))));
    case OpKind::kMin:
      MODELD_BINARY(float, choose(x != x, x, choose(y != y, y, choose(x < y, x, y))));
    case OpKind::kPRelu:
      MODELD_BINARY(float, choose(x < 0.0f, x * y, x));
    case OpKind::kEqual:
      MODELD_BINARY(uint8_t, static_cast<uint8_t>(x == y));
    case OpKind::kGreater:
      MODELD_BINARY(uint8_t, static_cast<uint8_t>(x > y));
    case OpKind::kGreaterOrEqual:
      MODELD_BINARY(uint8_t, static_cast<uint8_t>(x >= y));
    case OpKind::kLess:
      MODELD_BINARY(uint8_t, static_cast<uint8_t>(x < y));
    case OpKind::kLessOrEqual:
      MODELD_BINARY(uint8_t, static_cast<uint8_t>(x <= y));
    default:
      return false;
  }
#undef MODELD_BINARY
}

}  // namespace modeld::cpu
