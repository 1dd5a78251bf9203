// Layer normalisation spelled out, (x - mean) / sqrt(mean((x - mean)^2) + epsilon) over the last
// axes (or times 1 / sqrt(..), or times (..)^-0.5), times a constant and plus a constant where they
// follow, becomes one op (Ba, Kiros and Hinton 2016).
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> recognise_layer_norm(Draft& draft);

}  // namespace modeld::compile
