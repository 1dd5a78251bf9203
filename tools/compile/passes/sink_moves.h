// Moves Transposes behind element-wise ops, and Reshapes behind those with one input or a number,
// where they meet others and cancel (merge_moves); uncovers Conv + bias + activation for fusion.
// Never makes more of them.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> sink_moves(Draft& draft);

}  // namespace modeld::compile
