// Scaling by one number.
#pragma once

#include <optional>

#include "tools/compile/draft.h"

namespace modeld::compile {

// A Mul or Div of a tensor by one finite constant, as a factor; `scaled` becomes the tensor.
std::optional<double> constant_factor(const Draft& draft, const Op& op, TensorId& scaled);

}  // namespace modeld::compile
