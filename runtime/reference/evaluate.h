// One op on values at hand, by the reference kernels: constant folding and checks of other
// backends' results.
#pragma once

#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/op.h"
#include "runtime/reference/host_tensor.h"

namespace modeld {

// `inputs[i]` is null where op.inputs[i] is kNoTensor; op.inputs and op.outputs are not looked at.
// The op is checked by infer_types() first and each input's bytes against its type. kRefused also
// for an index out of range or an integer division by zero; kUnsupported for Warp (it reads a
// frame) and above rank 8; kExhausted when a result does not fit in memory (4 GiB at most).
// Thread-safe.
Result<std::vector<HostTensor>> evaluate(const Op& op, std::span<const HostTensor* const> inputs);

}  // namespace modeld
