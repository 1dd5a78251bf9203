// A constant per channel added to a matrix op becomes its bias (or joins the one it has).
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> fuse_bias(Draft& draft);

}  // namespace modeld::compile
