// Normalisation by the root of the mean square spelled out, x / sqrt(mean(x^2) + epsilon) over the
// last axes (or times 1 / sqrt(..), or times (..)^-0.5), times a constant where that follows,
// becomes one op (Zhang and Sennrich 2019). Casts to float32 before and back to a half type behind
// it, which exporters write for half inputs, go into the op: it computes in float32 anyway.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> recognise_rms_norm(Draft& draft);

}  // namespace modeld::compile
