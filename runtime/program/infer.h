// Output types from kind, attributes and input types: the one place that knows shapes.
#pragma once

#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/op.h"

namespace modeld {

// `inputs[i]` is null where op.inputs[i] is kNoTensor. Checks everything OPS.md demands of an op
// (ranks, axes, extents, dtypes, attribute ranges, overflow); an error names the attribute or
// input with expected and found. Safe for hostile ops.
Result<std::vector<TensorType>> infer_types(OpKind kind, const Attributes& attributes,
                                            std::span<const TensorType* const> inputs);

}  // namespace modeld
