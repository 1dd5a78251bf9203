// Removes ops that change nothing: Reshape, Transpose, Cast, Expand, Slice, Pad, Tile and Concat
// that leave their input as it is. A Transpose that only moves axes of extent 1 becomes a Reshape.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> remove_noops(Draft& draft);

}  // namespace modeld::compile
