// Static types and values of a graph's inputs.
#pragma once

#include <map>
#include <string>

#include "runtime/base/result.h"
#include "tools/compile/compile.h"
#include "tools/compile/onnx_graph.h"

namespace modeld::compile {

// The type of a graph input: the first axis is 1 where the file leaves it open (one frame at a
// time). Refused, naming the input: any other open axis, no shape at all.
Result<TensorType> static_type(const OnnxInput& input);

// Fixes open extents of the graph's inputs by name. Refused: an unknown name, another rank, another
// extent than the file states, a negative one.
Status set_input_shapes(OnnxGraph& graph, const std::map<std::string, Shape>& shapes);

// `frozen` as a constant, if it fits what the file says of the input.
Result<HostTensor> frozen_value(const OnnxInput& input, const FrozenInput& frozen);

}  // namespace modeld::compile
