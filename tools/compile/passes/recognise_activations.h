// Activations that exporters spell out become one op: x * sigmoid(x) (Silu), x * hard_sigmoid(x)
// and x * clip(x + 3, 0, 6) / 6 (HardSwish), GELU in the erf and in the tanh form (Hendrycks and
// Gimpel 2016). Constants must agree to rounding of the element type.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> recognise_activations(Draft& draft);

}  // namespace modeld::compile
