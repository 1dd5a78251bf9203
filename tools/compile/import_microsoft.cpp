// Ops of the domain com.microsoft that ONNX Runtime's optimiser and quantiser write into files.
// Meaning: ONNX Runtime's ContribOperators page.
#include <array>
#include <numeric>

#include "tools/compile/convolution_attributes.h"
#include "tools/compile/op_families.h"
#include "tools/compile/quantised.h"

namespace modeld::compile {
namespace {

template <OpKind kKind>
Status qlinear_binary(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(7, 8));
  MODELD_ASSIGN(const TensorId a, dequantised_input(node, {0, 1, 2}));
  MODELD_ASSIGN(const TensorId b, dequantised_input(node, {3, 4, 5}));
  MODELD_ASSIGN(const TensorId id, node.emit(kKind, {a, b}));
  return quantised_output(node, id, {0, 6, 7});
}

// Y_scale, Y_zero_point, then each input with its scale and zero point.
Status qlinear_concat(NodeImport& node) {
  if (node.input_count() < 5 || (node.input_count() - 2) % 3 != 0) {
    return node.refused("wrong number of inputs")
        .expecting("2 and three for each part", std::to_string(node.input_count()));
  }
  MODELD_TRY(node.expect_inputs(node.input_count(), node.input_count()));
  std::vector<TensorId> parts;
  for (size_t i = 2; i < node.input_count(); i += 3) {
    MODELD_ASSIGN(const TensorId part, dequantised_input(node, {i, i + 1, i + 2}));
    parts.push_back(part);
  }
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", 0), node.rank(2)));
  Attributes attributes;
  attributes.set("axis", axis);
  MODELD_ASSIGN(const TensorId id,
                node.emit(OpKind::kConcat, std::move(parts), std::move(attributes)));
  return quantised_output(node, id, {0, 0, 1});
}

// X, X_scale, X_zero_point, Y_scale, Y_zero_point
Status qlinear_sigmoid(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(4, 5));
  MODELD_ASSIGN(TensorId id, dequantised_input(node, {0, 1, 2}));
  MODELD_ASSIGN(id, node.emit(OpKind::kSigmoid, {id}));
  return quantised_output(node, id, {0, 3, 4});
}

Status qlinear_leaky_relu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(4, 5));
  MODELD_ASSIGN(TensorId id, dequantised_input(node, {0, 1, 2}));
  Attributes attributes;
  attributes.set("alpha", node.attr_float("alpha", static_cast<double>(0.01f)));
  MODELD_ASSIGN(id, node.emit(OpKind::kLeakyRelu, {id}, std::move(attributes)));
  return quantised_output(node, id, {0, 3, 4});
}

Status qlinear_global_average_pool(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(5, 5));
  if (node.rank(0) < 3) return node.refused("no spatial axes " + to_string(node.shape(0)));
  const bool channels_last = node.attr_int("channels_last", 0) != 0;
  std::vector<int64_t> axes(static_cast<size_t>(node.rank(0) - 2));
  std::iota(axes.begin(), axes.end(), channels_last ? 1 : 2);
  MODELD_ASSIGN(TensorId id, dequantised_input(node, {0, 1, 2}));
  MODELD_ASSIGN(id, node.reduce(OpKind::kReduceMean, id, std::move(axes)));
  return quantised_output(node, id, {0, 3, 4});
}

Status set_fused_activation(NodeImport& node, Attributes& attributes) {
  const std::string name = node.attr_string("activation", "");
  const std::vector<float> parameters = node.attr_floats("activation_params");
  if (name.empty()) return {};
  const bool one = name == "LeakyRelu";
  const bool two = name == "Clip" || name == "HardSigmoid";
  if (!one && !two && name != "Relu" && name != "Tanh" && name != "Sigmoid") {
    return node.unsupported("this 'activation'");
  }
  if (parameters.size() < (two ? 2u : one ? 1u : 0u)) {
    return node.refused("attribute 'activation_params' is too short");
  }
  attributes.set("activation", name);
  if (one || two) attributes.set("activation_alpha", static_cast<double>(parameters[0]));
  if (two) attributes.set("activation_beta", static_cast<double>(parameters[1]));
  return {};
}

// X, W, [B], [Z]: act(conv(X, W) + B + Z)
Status fused_conv(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 4));
  MODELD_ASSIGN(Attributes attributes, convolution_attributes(node, 0, 1));
  MODELD_TRY(set_fused_activation(node, attributes));
  return node.emit_output(OpKind::kConv, node.inputs(), std::move(attributes));
}

Result<TensorId> gelu_of(NodeImport& node, TensorId id, const char* approximate) {
  Attributes attributes;
  attributes.set("approximate", std::string(approximate));
  return node.emit(OpKind::kGelu, {id}, std::move(attributes));
}

// X, [bias]: FastGelu takes the tanh form, the others the exact one.
Status gelu_with_bias(NodeImport& node, const char* approximate) {
  MODELD_TRY(node.expect_inputs(1, 2));
  TensorId id = node.input(0);
  if (node.has_input(1)) {
    MODELD_ASSIGN(id, node.emit(OpKind::kAdd, {id, node.input(1)}));
  }
  MODELD_ASSIGN(id, gelu_of(node, id, approximate));
  node.set_output(0, id);
  return {};
}

Status gelu(NodeImport& node) {
  return gelu_with_bias(node, "none");
}

Status fast_gelu(NodeImport& node) {
  return gelu_with_bias(node, "tanh");
}

// x * sigmoid(alpha * x)
Status quick_gelu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const double alpha = node.attr_float("alpha", static_cast<double>(1.702f));
  MODELD_ASSIGN(const TensorId factor, node.scalar_like(node.input(0), alpha));
  MODELD_ASSIGN(TensorId id, node.emit(OpKind::kMul, {node.input(0), factor}));
  MODELD_ASSIGN(id, node.emit(OpKind::kSigmoid, {id}));
  return node.emit_output(OpKind::kMul, {node.input(0), id});
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"BiasGelu", gelu},
    {"FastGelu", fast_gelu},
    {"FusedConv", fused_conv},
    {"Gelu", gelu},
    {"QLinearAdd", qlinear_binary<OpKind::kAdd>},
    {"QLinearConcat", qlinear_concat},
    {"QLinearGlobalAveragePool", qlinear_global_average_pool},
    {"QLinearLeakyRelu", qlinear_leaky_relu},
    {"QLinearMul", qlinear_binary<OpKind::kMul>},
    {"QLinearSigmoid", qlinear_sigmoid},
    {"QuickGelu", quick_gelu},
});

}  // namespace

std::span<const ImporterRow> microsoft_importers() {
  return kImporters;
}

}  // namespace modeld::compile
