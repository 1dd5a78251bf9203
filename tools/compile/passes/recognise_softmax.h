// Softmax spelled out, exp(x - max(x)) / sum(exp(x - max(x))) along one axis, becomes one op.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> recognise_softmax(Draft& draft);

}  // namespace modeld::compile
