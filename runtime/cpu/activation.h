// Functions of one float32 element, as ops of their own or at the end of a product.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/program/attributes.h"
#include "runtime/program/op.h"

namespace modeld::cpu {

// `kind` is one of the one-input float kinds of OpKind; for kGelu `alpha` is 1 for the tanh form.
// alpha and beta are the op's, for kClip the bounds.
struct Activation {
  OpKind kind = OpKind::kRelu;
  float alpha = 0;
  float beta = 0;
};

// The activation named by a product's attributes; nothing if there is none.
std::optional<Activation> fused_activation(const Attributes& attributes);
// That of a one-input op; nothing for kinds that are not float functions of one element.
std::optional<Activation> unary_activation(OpKind kind, const Attributes& attributes);

// to[i] = f(from[i]); `to` may be `from`.
void apply(const Activation& activation, const float* from, float* to, size_t count);

}  // namespace modeld::cpu
