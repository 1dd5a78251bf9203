// MatMul of a matrix with a constant matrix becomes Gemm.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> matmul_to_gemm(Draft& draft);

}  // namespace modeld::compile
