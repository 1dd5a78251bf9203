// Histories of inputs as ordinary program ops: a state that keeps past rows, and what picks from
// it.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "tools/compile/draft.h"
#include "tools/compile/pipeline.h"

namespace modeld::compile {

// Shape of one row: `input` with `history.size` along the history's axis. kInvalidArgument if the
// axis does not exist or is no multiple of the size.
Result<Shape> row_shape(const Shape& input, const HistorySpec& history);

// Facts 9.4. `row` (of row_shape) is appended to a buffer of
//   (max: samples * stride; sample: (samples - 1) * stride + 1) + delay
// rows that starts at zero and drops its oldest; without the last `delay` rows, every stride-th row
// (or the maximum of every `stride` rows) is a sample; samples lie along the history's axis, oldest
// first. Answers a tensor of shape `input` and `row`'s element type; the buffer is a new state of
// the draft named `name` + "_history".
Result<TensorId> add_history(Draft& draft, TensorId row, const Shape& input,
                             const HistorySpec& history, const std::string& name, Phase phase);

}  // namespace modeld::compile
