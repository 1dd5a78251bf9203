// Attention spelled out scales its scores, query x key, which are many. Where both factors are
// computed, the scalar goes to the smaller of them instead, and from there, past its moves, into
// the weights that made it (sink_moves, fold_scale).
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> scale_attention(Draft& draft);

}  // namespace modeld::compile
