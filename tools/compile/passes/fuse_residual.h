// A tensor of the same shape added to a Conv, Gemm or MatMul becomes its residual input.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> fuse_residual(Draft& draft);

}  // namespace modeld::compile
