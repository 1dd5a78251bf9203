// Reshape after Reshape and Transpose after Transpose become one.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> merge_moves(Draft& draft);

}  // namespace modeld::compile
