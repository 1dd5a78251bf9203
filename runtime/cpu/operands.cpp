#include "runtime/cpu/operands.h"

namespace modeld::cpu {
namespace {

// The layout of the largest computed input: the output takes it, so that rows stay long.
Layout common_layout(const Lowering& lowering, const Op& op, size_t rank) {
  Layout layout = Layout::kPlain;
  int64_t most = -1;
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor || lowering.is_constant(id) || lowering.shape(id).size() != rank) continue;
    const int64_t elements = lowering.type(id).elements();
    if (elements <= most) continue;
    most = elements;
    layout = lowering.layout(id);
  }
  return layout;
}

}  // namespace

Operands operands_of(Lowering& lowering, const Op& op) {
  Operands operands;
  const TensorId out = op.outputs[0];
  const Shape& shape = lowering.shape(out);
  operands.layout = common_layout(lowering, op, shape.size());
  for (const TensorId id : op.inputs) {
    const bool full = lowering.shape(id) == shape;
    const Layout layout = full ? operands.layout : lowering.layout(id);
    const ValueId value = lowering.value(id, layout);
    operands.values.push_back(value);
    operands.inputs.push_back({lowering.shape(id), layout});
    if (full && size_of(lowering.stored(id)) == size_of(lowering.stored(out))) {
      operands.in_place.push_back(value);
    }
  }
  operands.out = lowering.define(out, operands.layout);
  return operands;
}

Lowering::StepOptions options_for(const Operands& operands, int64_t elements) {
  Lowering::StepOptions options;
  options.parallel = elements >= kWorthSharing;
  options.in_place = operands.in_place;
  return options;
}

}  // namespace modeld::cpu
