#include "tools/compile/passes/matrix_op.h"

#include "tools/compile/text.h"

namespace modeld::compile {

bool is_matrix_op(OpKind kind) {
  return kind == OpKind::kConv || kind == OpKind::kConvTranspose || kind == OpKind::kGemm ||
         kind == OpKind::kMatMul;
}

void set_input(Op& op, size_t index, TensorId tensor) {
  if (op.inputs.size() <= index) op.inputs.resize(index + 1, kNoTensor);
  op.inputs[index] = tensor;
}

std::optional<size_t> open_matrix_op(const Links& links, TensorId tensor) {
  const auto index = links.producer(tensor);
  if (!index || !links.has_single_use(tensor)) return std::nullopt;
  const Op& op = links.op(*index);
  if (!is_matrix_op(op.kind) || op.attributes.has("activation")) return std::nullopt;
  if (input_or_none(op, kResidualInput) != kNoTensor) return std::nullopt;
  return index;
}

size_t channel_axis(const Op& op, const Shape& output) {
  const bool convolution = op.kind == OpKind::kConv || op.kind == OpKind::kConvTranspose;
  return convolution ? 1 : output.size() - 1;
}

std::string fused_names(const Op& first, const Op& second) {
  return std::string(to_string(first.kind)) + " '" + printable(first.name) + "' + " +
         std::string(to_string(second.kind)) + " '" + printable(second.name) + "'";
}

void fuse(Links& links, size_t first, size_t second, Op fused) {
  links.replace_op(second, std::move(fused));
  links.remove_op(first);
}

}  // namespace modeld::compile
