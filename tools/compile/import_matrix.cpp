// Convolutions, matrix products and normalisation with learnt terms.
#include <algorithm>
#include <array>

#include "tools/compile/op_families.h"
#include "tools/compile/window_attributes.h"

namespace modeld::compile {
namespace {

// Data and weights of a convolution; answers the kernel's extents.
Result<std::vector<int64_t>> convolution_kernel(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  if (node.rank(0) < 3 || node.rank(1) != node.rank(0)) {
    return node.refused("data and weights do not have the same, spatial rank")
        .expecting("3 or more axes", to_string(node.shape(0)) + " and " + to_string(node.shape(1)));
  }
  std::vector<int64_t> kernel(node.shape(1).begin() + 2, node.shape(1).end());
  if (std::any_of(kernel.begin(), kernel.end(), [](int64_t extent) { return extent < 1; })) {
    return node.refused("weights without extent " + to_string(node.shape(1)));
  }
  return kernel;
}

std::vector<TensorId> with_optional(std::vector<TensorId> inputs, TensorId optional) {
  if (optional != kNoTensor) inputs.push_back(optional);
  return inputs;
}

Status conv(NodeImport& node) {
  MODELD_ASSIGN(std::vector<int64_t> kernel, convolution_kernel(node));
  const size_t axes = kernel.size();
  MODELD_ASSIGN(WindowAttributes window, window_attributes(node, axes, std::move(kernel)));
  resolve_auto_pad(window, node.shape(0));
  Attributes attributes = window.attributes();
  attributes.set("group", node.attr_int("group", 1));
  MODELD_ASSIGN(
      const TensorId id,
      node.emit(OpKind::kConv, with_optional({node.input(0), node.input(1)}, node.input(2)),
                std::move(attributes)));
  node.set_output(0, id);
  return {};
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
  MODELD_ASSIGN(std::vector<int64_t> kernel, convolution_kernel(node));
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

// Training shows in an attribute (opset 14 and newer) or in extra outputs (before).
Status refuse_training_batch_norm(NodeImport& node) {
  bool training = node.attr_int("training_mode", 0) != 0;
  for (size_t i = 1; i < node.output_count(); ++i) training = training || node.wants_output(i);
  if (training) return node.refused("batch normalisation in training mode");
  if (node.attr_int("spatial", 1) != 1) return node.unsupported("per-activation normalisation");
  return {};
}

Status batch_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(5, 5));
  node.ignore_attr("momentum");
  MODELD_TRY(refuse_training_batch_norm(node));
  Attributes attributes;
  attributes.set("epsilon", node.attr_float("epsilon", static_cast<double>(1e-5f)));
  MODELD_ASSIGN(const TensorId id,
                node.emit(OpKind::kBatchNormalization, node.inputs(), std::move(attributes)));
  node.set_output(0, id);
  return {};
}

Status layer_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  if (node.attr_int("stash_type", 1) != 1) {
    return node.unsupported("'stash_type' other than float32");
  }
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0)));
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("epsilon", node.attr_float("epsilon", static_cast<double>(1e-5f)));
  MODELD_ASSIGN(const TensorId id,
                node.emit(OpKind::kLayerNormalization, node.inputs(), std::move(attributes)));
  node.set_output(0, id);
  return {};
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"BatchNormalization", batch_normalization},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"Gemm", gemm},
    {"LayerNormalization", layer_normalization},
    {"MatMul", matmul},
});

}  // namespace

std::span<const ImporterRow> matrix_importers() {
  return kImporters;
}

}  // namespace modeld::compile
