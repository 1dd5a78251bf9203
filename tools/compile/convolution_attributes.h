// The canonical attributes of every kind of convolution.
#pragma once

#include <vector>

#include "tools/compile/node_import.h"

namespace modeld::compile {

// The kernel's extents; `data` and `weights` are positions of inputs that are there.
Result<std::vector<int64_t>> convolution_kernel(const NodeImport& node, size_t data,
                                                size_t weights);

// strides, pads (auto_pad resolved), dilations and group of a Conv or one of its integer kin.
Result<Attributes> convolution_attributes(NodeImport& node, size_t data, size_t weights);

}  // namespace modeld::compile
