// Pieces that quantised ops are imported from, in the ai.onnx domain and in com.microsoft.
#pragma once

#include "tools/compile/node_import.h"

namespace modeld::compile {

// Positions of a quantised operand's inputs.
struct QuantisedInput {
  size_t value;
  size_t scale;
  size_t zero_point;
};

// A scale or zero point as a tensor that broadcasts to an operand of `shape`: one value as a
// scalar, a list along `axis`, blocks of `block_size` along `axis` repeated (0: none).
Result<TensorId> aligned_parameter(NodeImport& node, TensorId id, Shape shape, int64_t axis,
                                   int64_t block_size = 0);

// Floats to `to` and back; scale and zero point aligned, the zero point kNoTensor for 0.
Result<TensorId> quantise(NodeImport& node, TensorId id, TensorId scale, TensorId zero, DType to);
Result<TensorId> dequantise(NodeImport& node, TensorId id, TensorId scale, TensorId zero, DType to);

// A quantised input of the node as floats, and a float result quantised like `like`'s parameters
// (whose `value` is not looked at); one scale for the whole tensor each.
Result<TensorId> dequantised_input(NodeImport& node, const QuantisedInput& input);
Status quantised_output(NodeImport& node, TensorId id, const QuantisedInput& like);

}  // namespace modeld::compile
