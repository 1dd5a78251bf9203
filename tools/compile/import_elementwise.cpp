// Element by element: one, two or many inputs.
#include <algorithm>
#include <array>

#include "tools/compile/op_families.h"

namespace modeld::compile {
namespace {

Status emit_to_output(NodeImport& node, OpKind kind, std::vector<TensorId> inputs,
                      Attributes attributes = {}) {
  MODELD_ASSIGN(const TensorId id, node.emit(kind, std::move(inputs), std::move(attributes)));
  node.set_output(0, id);
  return {};
}

template <OpKind kKind>
Status unary(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  return emit_to_output(node, kKind, {node.input(0)});
}

template <OpKind kKind>
Status binary(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  return emit_to_output(node, kKind, {node.input(0), node.input(1)});
}

Status elu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  Attributes attributes;
  attributes.set("alpha", node.attr_float("alpha", 1.0));
  return emit_to_output(node, OpKind::kElu, {node.input(0)}, std::move(attributes));
}

Status leaky_relu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  Attributes attributes;
  attributes.set("alpha", node.attr_float("alpha", static_cast<double>(0.01f)));
  return emit_to_output(node, OpKind::kLeakyRelu, {node.input(0)}, std::move(attributes));
}

Status hard_sigmoid(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  Attributes attributes;
  attributes.set("alpha", node.attr_float("alpha", static_cast<double>(0.2f)));
  attributes.set("beta", node.attr_float("beta", 0.5));
  return emit_to_output(node, OpKind::kHardSigmoid, {node.input(0)}, std::move(attributes));
}

Status gelu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  Attributes attributes;
  attributes.set("approximate", node.attr_string("approximate", "none"));
  return emit_to_output(node, OpKind::kGelu, {node.input(0)}, std::move(attributes));
}

// A bound given as input may be computed at run time; then it is one side of a Max or Min.
Status clip_at_run_time(NodeImport& node) {
  TensorId id = node.input(0);
  if (node.has_input(1)) {
    MODELD_ASSIGN(id, node.emit(OpKind::kMax, {id, node.input(1)}));
  }
  if (node.has_input(2)) {
    MODELD_ASSIGN(id, node.emit(OpKind::kMin, {id, node.input(2)}));
  }
  node.set_output(0, id);
  return {};
}

// Bounds are attributes before opset 11, optional inputs from then on.
Status clip(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 3));
  Attributes attributes;
  constexpr std::array<std::string_view, 2> kBounds = {"min", "max"};
  for (size_t i = 0; i < kBounds.size(); ++i) {
    if (node.opset() < 11 && node.has_attribute(kBounds[i])) {
      attributes.set(std::string(kBounds[i]), node.attr_float(kBounds[i], 0));
    }
    if (!node.has_input(i + 1)) continue;
    if (node.constant_input(i + 1) == nullptr) return clip_at_run_time(node);
    MODELD_ASSIGN(const double bound, node.constant_scalar(i + 1, kBounds[i]));
    attributes.set(std::string(kBounds[i]), bound);
  }
  if (attributes.map().empty()) {
    node.set_output(0, node.input(0));
    return {};
  }
  return emit_to_output(node, OpKind::kClip, {node.input(0)}, std::move(attributes));
}

Status mod(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  Attributes attributes;
  attributes.set("fmod", node.attr_int("fmod", 0));
  return emit_to_output(node, OpKind::kMod, {node.input(0), node.input(1)}, std::move(attributes));
}

Status where(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(3, 3));
  return emit_to_output(node, OpKind::kWhere, {node.input(0), node.input(1), node.input(2)});
}

// Every input of a variadic op must be there.
Status expect_all(const NodeImport& node) {
  return node.expect_inputs(std::max<size_t>(node.input_count(), 1), node.input_count());
}

template <OpKind kKind>
Status extremum(NodeImport& node) {
  MODELD_TRY(expect_all(node));
  if (node.input_count() == 1) {
    node.set_output(0, node.input(0));
    return {};
  }
  return emit_to_output(node, kKind, node.inputs());
}

Result<TensorId> sum_of_inputs(NodeImport& node) {
  MODELD_TRY(expect_all(node));
  TensorId sum = node.input(0);
  for (size_t i = 1; i < node.input_count(); ++i) {
    MODELD_ASSIGN(sum, node.emit(OpKind::kAdd, {sum, node.input(i)}));
  }
  return sum;
}

Status sum(NodeImport& node) {
  MODELD_ASSIGN(const TensorId id, sum_of_inputs(node));
  node.set_output(0, id);
  return {};
}

Status mean(NodeImport& node) {
  MODELD_ASSIGN(const TensorId total, sum_of_inputs(node));
  MODELD_ASSIGN(const TensorId count,
                node.scalar_like(total, static_cast<double>(node.input_count())));
  return emit_to_output(node, OpKind::kDiv, {total, count});
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"Abs", unary<OpKind::kAbs>},
    {"Add", binary<OpKind::kAdd>},
    {"And", binary<OpKind::kAnd>},
    {"Ceil", unary<OpKind::kCeil>},
    {"Clip", clip},
    {"Div", binary<OpKind::kDiv>},
    {"Elu", elu},
    {"Equal", binary<OpKind::kEqual>},
    {"Erf", unary<OpKind::kErf>},
    {"Exp", unary<OpKind::kExp>},
    {"Floor", unary<OpKind::kFloor>},
    {"Gelu", gelu},
    {"Greater", binary<OpKind::kGreater>},
    {"GreaterOrEqual", binary<OpKind::kGreaterOrEqual>},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", unary<OpKind::kHardSwish>},
    {"LeakyRelu", leaky_relu},
    {"Less", binary<OpKind::kLess>},
    {"LessOrEqual", binary<OpKind::kLessOrEqual>},
    {"Log", unary<OpKind::kLog>},
    {"Max", extremum<OpKind::kMax>},
    {"Mean", mean},
    {"Min", extremum<OpKind::kMin>},
    {"Mod", mod},
    {"Mul", binary<OpKind::kMul>},
    {"Neg", unary<OpKind::kNeg>},
    {"Not", unary<OpKind::kNot>},
    {"Or", binary<OpKind::kOr>},
    {"PRelu", binary<OpKind::kPRelu>},
    {"Pow", binary<OpKind::kPow>},
    {"Reciprocal", unary<OpKind::kReciprocal>},
    {"Relu", unary<OpKind::kRelu>},
    {"Round", unary<OpKind::kRound>},
    {"Sigmoid", unary<OpKind::kSigmoid>},
    {"Softplus", unary<OpKind::kSoftplus>},
    {"Sqrt", unary<OpKind::kSqrt>},
    {"Sub", binary<OpKind::kSub>},
    {"Sum", sum},
    {"Tanh", unary<OpKind::kTanh>},
    {"Where", where},
});

}  // namespace

std::span<const ImporterRow> elementwise_importers() {
  return kImporters;
}

}  // namespace modeld::compile
