// A Transpose before a flattening Reshape, read by matrix products with constant right sides alone
// (channels-last features going into a dense layer): the rows of the weights are put in the order of
// the untransposed elements instead.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> permute_weights(Draft& draft);

}  // namespace modeld::compile
