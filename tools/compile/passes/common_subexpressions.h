// Two ops that compute the same of the same inputs become one; constants with equal contents count
// as one tensor.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> merge_common_subexpressions(Draft& draft);

}  // namespace modeld::compile
