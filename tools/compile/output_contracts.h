// Which named parts an output has.
#pragma once

#include <vector>

#include "runtime/base/result.h"
#include "tools/compile/output_slices.h"
#include "tools/compile/pipeline.h"

namespace modeld::compile {

// Slices as the ONNX property names them, for an output of `total` elements: ascending, disjoint,
// with step 1; elements between them become slices "unnamed_<start>". kRefused otherwise.
Result<std::vector<NamedRange>> ranges_of(const std::vector<NamedSlice>& slices, int64_t total);

// The same for slices a pipeline names.
Result<std::vector<NamedRange>> ranges_of(const std::vector<NamedRange>& slices, int64_t total);

}  // namespace modeld::compile
