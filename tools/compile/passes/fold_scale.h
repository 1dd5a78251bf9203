// A matrix op with constant weights, multiplied by a constant per channel (a learnt layer scale),
// takes the factor into its weights.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> fold_scale(Draft& draft);

}  // namespace modeld::compile
