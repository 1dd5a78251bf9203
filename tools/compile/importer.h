// ONNX graphs into a draft, op by op in the canonical form of runtime/program/OPS.md.
#pragma once

#include <map>
#include <string>

#include "runtime/base/result.h"
#include "tools/compile/draft.h"
#include "tools/compile/onnx_graph.h"

namespace modeld::compile {

// Oldest version of the ai.onnx operator set (but for ops that never changed). Newer graphs are
// accepted whatever their version: an op whose meaning changed shows it by attributes or inputs
// this importer does not know, and those are refused.
constexpr int64_t kOldestOpset = 7;

// Tensors of the draft by ONNX value name.
using ValueMap = std::map<std::string, TensorId, std::less<>>;

// Appends the nodes of `graph`. `inputs` binds every graph input by name (constants for frozen
// ones). Answers the graph's outputs by name. Refused with the node's name: unknown ops (with
// domain and opset), training domains, optimizer and gradient ops, normalisation or dropout in
// training mode, control flow, shapes or other static parameters that depend on run-time values.
Result<ValueMap> import_graph(Draft& draft, const OnnxGraph& graph, const ValueMap& inputs);

}  // namespace modeld::compile
