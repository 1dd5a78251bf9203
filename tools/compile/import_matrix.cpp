// Convolutions and matrix products of floats.
#include <algorithm>
#include <array>

#include "tools/compile/convolution_attributes.h"
#include "tools/compile/op_families.h"
#include "tools/compile/window_attributes.h"

namespace modeld::compile {
namespace {

std::vector<TensorId> with_optional(std::vector<TensorId> inputs, TensorId optional) {
  if (optional != kNoTensor) inputs.push_back(optional);
  return inputs;
}

Status conv(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  MODELD_ASSIGN(Attributes attributes, convolution_attributes(node, 0, 1));
  return node.emit_output(OpKind::kConv,
                          with_optional({node.input(0), node.input(1)}, node.input(2)),
                          std::move(attributes));
}

// The ONNX rule: what `output_shape` (or SAME: extent * stride) leaves over is cut off, the odd
// element at the end for SAME_UPPER and at the beginning otherwise. A larger shape is reached by
// padding the end.
Status pad_to_output_shape(NodeImport& node, WindowAttributes& window,
                           std::vector<int64_t>& output_padding) {
  std::vector<int64_t> wanted = node.attr_ints("output_shape");
  const bool same =
      window.auto_pad == AutoPad::kSameUpper || window.auto_pad == AutoPad::kSameLower;
  if (wanted.empty() && !same) return {};
  if (wanted.size() == window.axes() + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const int64_t extent = node.shape(0)[axis + 2];
    if (same && wanted.size() <= axis) wanted.push_back(extent * window.strides[axis]);
    if (wanted.size() <= axis) return node.refused("attribute 'output_shape' is too short");
    const int64_t full =
        window.strides[axis] * (extent - 1) + output_padding[axis] + window.reach(axis);
    const int64_t most = full + window.strides[axis];
    if (wanted[axis] < 1 || wanted[axis] > most) {
      return node.refused("attribute 'output_shape' cannot be reached")
          .expecting("1.." + std::to_string(most), std::to_string(wanted[axis]));
    }
    output_padding[axis] += std::max<int64_t>(wanted[axis] - full, 0);
    window.split_padding(axis, std::max<int64_t>(full - wanted[axis], 0),
                         window.auto_pad != AutoPad::kSameUpper);
  }
  return {};
}

Status conv_transpose(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  MODELD_ASSIGN(std::vector<int64_t> kernel, convolution_kernel(node, 0, 1));
  const size_t axes = kernel.size();
  MODELD_ASSIGN(WindowAttributes window, window_attributes(node, axes, std::move(kernel)));
  MODELD_ASSIGN(std::vector<int64_t> output_padding, ints_or(node, "output_padding", axes, 0, 0));
  MODELD_TRY(pad_to_output_shape(node, window, output_padding));
  Attributes attributes = window.attributes();
  attributes.set("group", node.attr_int("group", 1));
  attributes.set("output_padding", std::move(output_padding));
  MODELD_ASSIGN(const TensorId id,
                node.emit(OpKind::kConvTranspose,
                          with_optional({node.input(0), node.input(1)}, node.input(2)),
                          std::move(attributes)));
  node.set_output(0, id);
  return {};
}

Status gemm(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  Attributes attributes;
  attributes.set("alpha", node.attr_float("alpha", 1));
  attributes.set("beta", node.attr_float("beta", 1));
  attributes.set("trans_a", node.attr_int("transA", 0));
  attributes.set("trans_b", node.attr_int("transB", 0));
  MODELD_ASSIGN(
      const TensorId id,
      node.emit(OpKind::kGemm, with_optional({node.input(0), node.input(1)}, node.input(2)),
                std::move(attributes)));
  node.set_output(0, id);
  return {};
}

Status matmul(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_ASSIGN(const TensorId id, node.emit(OpKind::kMatMul, {node.input(0), node.input(1)}));
  node.set_output(0, id);
  return {};
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"Gemm", gemm},
    {"MatMul", matmul},
});

}  // namespace

std::span<const ImporterRow> matrix_importers() {
  return kImporters;
}

}  // namespace modeld::compile
