// Conv, ConvTranspose, Gemm and MatMul: ops that can take a bias, a residual and an activation.
#pragma once

#include <optional>
#include <string>

#include "tools/compile/links.h"

namespace modeld::compile {

constexpr size_t kBiasInput = 2;
constexpr size_t kResidualInput = 3;

bool is_matrix_op(OpKind kind);
inline TensorId input_or_none(const Op& op, size_t index) {
  return index < op.inputs.size() ? op.inputs[index] : kNoTensor;
}
// Sets an optional input, filling the ones before it with kNoTensor.
void set_input(Op& op, size_t index, TensorId tensor);

// The matrix op that writes `tensor` for one reader alone and has neither residual nor activation:
// something may still be fused onto it.
std::optional<size_t> open_matrix_op(const Links& links, TensorId tensor);

// The axis of the output along which the bias lies.
size_t channel_axis(const Op& op, const Shape& output);

// "Conv 'a' + Add 'b'"
std::string fused_names(const Op& first, const Op& second);

// Puts `fused` in the place of the op at `second`, whose outputs it writes, and removes `first`.
void fuse(Links& links, size_t first, size_t second, Op fused);

}  // namespace modeld::compile
