// Checks of constant indices, shared by the ops that have any.
#pragma once

#include <vector>

#include "tools/compile/node_import.h"

namespace modeld::compile {

// Refuses a constant `input` with an index outside -extent .. extent - 1; the extents take turns
// along its last axis. Run-time indices pass.
Status check_constant_indices(const NodeImport& node, size_t input,
                              const std::vector<int64_t>& extents);

}  // namespace modeld::compile
