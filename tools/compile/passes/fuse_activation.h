// An activation that alone reads a matrix op is applied by that op.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> fuse_activation(Draft& draft);

}  // namespace modeld::compile
