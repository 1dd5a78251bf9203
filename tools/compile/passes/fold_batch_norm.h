// BatchNormalization with constant terms after Conv, ConvTranspose or Gemm with constant weights
// goes into those weights. Computed in double and rounded once; left alone where a folded weight
// would not be finite.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> fold_batch_norm(Draft& draft);

}  // namespace modeld::compile
