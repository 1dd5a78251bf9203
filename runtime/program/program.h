// The graph an artifact carries and a device captures.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/op.h"
#include "runtime/program/tensor.h"

namespace modeld {

// `next` of one frame becomes `current` of the following one, if and only if the frame was
// committed (Capture::commit). Both have the same type.
struct StateBinding {
  TensorId current = kNoTensor;  // read by ops, written by nobody
  TensorId next = kNoTensor;     // written by an op (it may also be a program output)
  // Value at start and after a reset; absent means all zero bytes.
  std::optional<WeightRef> initial;
};

// A plain value; a program that passed verify() (verify.h) keeps every promise OPS.md makes.
// Every tensor is exactly one of: an input, a state's `current`, a constant, or written by one op.
struct Program {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;            // in execution order
  std::vector<TensorId> inputs;   // given by the host before a replay, states not among them
  std::vector<TensorId> outputs;  // read by the host after a replay
  std::vector<StateBinding> states;

  std::optional<TensorId> find_tensor(std::string_view name) const;
};

}  // namespace modeld
