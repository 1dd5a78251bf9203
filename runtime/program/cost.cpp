#include "runtime/program/cost.h"

#include "runtime/program/expand.h"

namespace modeld {
namespace {

uint64_t elements_from(const Shape& shape, size_t axis) {
  uint64_t product = 1;
  for (size_t i = axis; i < shape.size(); ++i) product *= static_cast<uint64_t>(shape[i]);
  return product;
}

uint64_t elements(const Tensor& tensor) {
  return elements_from(tensor.type.shape, 0);
}

// The extent both operands of a product share.
uint64_t inner_extent(const Op& op, const Shape& left) {
  if (left.empty()) return 1;
  const bool transposed = op.kind == OpKind::kGemm && op.attributes.get_int("trans_a") != 0;
  return static_cast<uint64_t>(transposed ? left.front() : left.back());
}

uint64_t macs_of(const Program& program, const Op& op);

uint64_t macs_of_expansion(const Program& program, const Op& op) {
  Program alone;
  alone.tensors = program.tensors;
  alone.ops = {op};
  uint64_t macs = 0;
  const Program inner = expanded(alone);
  for (const Op& part : inner.ops) macs += macs_of(inner, part);
  return macs;
}

uint64_t macs_of(const Program& program, const Op& op) {
  const Tensor& output = program.tensors[op.outputs[0]];
  switch (op.kind) {
    case OpKind::kConv:
    case OpKind::kConvInteger:  // W is [M, C / group, kernel...]
      return elements(output) * elements_from(program.tensors[op.inputs[1]].type.shape, 1);
    case OpKind::kConvTranspose:  // W is [C, M / group, kernel...]
      return elements(program.tensors[op.inputs[0]]) *
             elements_from(program.tensors[op.inputs[1]].type.shape, 1);
    case OpKind::kGemm:
    case OpKind::kMatMul:
    case OpKind::kMatMulInteger:
      return elements(output) * inner_extent(op, program.tensors[op.inputs[0]].type.shape);
    case OpKind::kGru:
    case OpKind::kLstm:
    case OpKind::kRnn:  // every step and sequence of the batch sees all of W and R
      return static_cast<uint64_t>(program.tensors[op.inputs[0]].type.shape[0]) *
             static_cast<uint64_t>(program.tensors[op.inputs[0]].type.shape[1]) *
             (elements(program.tensors[op.inputs[1]]) + elements(program.tensors[op.inputs[2]]));
    case OpKind::kAttention:
      return macs_of_expansion(program, op);
    default:
      return 0;
  }
}

}  // namespace

OpCost op_cost(const Program& program, const Op& op) {
  OpCost cost;
  cost.macs = macs_of(program, op);
  for (const TensorId id : op.inputs) {
    if (id != kNoTensor) cost.bytes_read += program.tensors[id].type.bytes();
  }
  for (const TensorId id : op.outputs) cost.bytes_written += program.tensors[id].type.bytes();
  return cost;
}

ProgramCost program_cost(const Program& program) {
  ProgramCost total;
  for (const Op& op : program.ops) {
    const OpCost cost = op_cost(program, op);
    total.macs += cost.macs;
    total.intermediate_bytes += cost.bytes_written;
  }
  for (const Tensor& tensor : program.tensors) {
    if (tensor.weight) total.constant_bytes += tensor.weight->length;
  }
  return total;
}

}  // namespace modeld
