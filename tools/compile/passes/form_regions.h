// Element-wise ops that feed each other become one Pointwise op, so that a backend may walk over
// their elements once. Results that others read are outputs of it. Last of all passes, after the
// precision policy: everything before looks for single ops.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> form_regions(Draft& draft);

}  // namespace modeld::compile
