// A draft that keeps its floats in another type: halves for a precision policy, doubles to measure
// against.
#pragma once

#include "runtime/base/result.h"
#include "tools/compile/draft.h"

namespace modeld::compile {

// `type` kFloat16 or kBFloat16: every float32 constant and intermediate is stored as that type.
// kFloat64: every float of another type is. Inputs, outputs and states keep their types, by Casts
// at the border; an op that does not take the type keeps its own, between Casts. Ops stay in their
// order under their names. kRefused, naming constant and value, for a finite constant that is
// infinite in `type`.
Status store_floats(Draft& draft, DType type);

}  // namespace modeld::compile
