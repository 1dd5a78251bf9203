// Element by element: one, two or many inputs.
#include <algorithm>
#include <array>
#include <limits>

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

Status celu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  // max(0, x) + min(0, alpha (exp(x / alpha) - 1)) = alpha elu(x / alpha), for alpha above 0.
  const double alpha = node.attr_float("alpha", 1.0);
  if (!(alpha > 0)) return node.unsupported("attribute 'alpha' of 0 or less");
  MODELD_ASSIGN(const TensorId factor, node.scalar_like(node.input(0), alpha));
  MODELD_ASSIGN(TensorId id, node.emit(OpKind::kDiv, {node.input(0), factor}));
  Attributes attributes;
  attributes.set("alpha", 1.0);
  MODELD_ASSIGN(id, node.emit(OpKind::kElu, {id}, std::move(attributes)));
  return emit_to_output(node, OpKind::kMul, {id, factor});
}

Status selu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  Attributes attributes;
  attributes.set("alpha",
                 node.attr_float("alpha", static_cast<double>(1.67326319217681884765625f)));
  const double gamma = node.attr_float("gamma", static_cast<double>(1.05070102214813232421875f));
  MODELD_ASSIGN(const TensorId id, node.emit(OpKind::kElu, {node.input(0)}, std::move(attributes)));
  MODELD_ASSIGN(const TensorId factor, node.scalar_like(id, gamma));
  return emit_to_output(node, OpKind::kMul, {id, factor});
}

Status softsign(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  MODELD_ASSIGN(const TensorId one, node.scalar_like(node.input(0), 1));
  MODELD_ASSIGN(TensorId divisor, node.emit(OpKind::kAbs, {node.input(0)}));
  MODELD_ASSIGN(divisor, node.emit(OpKind::kAdd, {divisor, one}));
  return emit_to_output(node, OpKind::kDiv, {node.input(0), divisor});
}

Status thresholded_relu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const TensorId x = node.input(0);
  MODELD_ASSIGN(const TensorId bound, node.scalar_like(x, node.attr_float("alpha", 1.0)));
  MODELD_ASSIGN(const TensorId zero, node.scalar_like(x, 0));
  MODELD_ASSIGN(const TensorId passes, node.emit(OpKind::kGreater, {x, bound}));
  return emit_to_output(node, OpKind::kWhere, {passes, x, zero});
}

// x - bias above lambd, x + bias below -lambd, 0 between.
Status shrink(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const TensorId x = node.input(0);
  const double border = node.attr_float("lambd", 0.5);
  MODELD_ASSIGN(const TensorId bias, node.scalar_like(x, node.attr_float("bias", 0)));
  MODELD_ASSIGN(const TensorId high, node.scalar_like(x, border));
  MODELD_ASSIGN(const TensorId low, node.scalar_like(x, -border));
  MODELD_ASSIGN(const TensorId zero, node.scalar_like(x, 0));
  MODELD_ASSIGN(const TensorId above, node.emit(OpKind::kGreater, {x, high}));
  MODELD_ASSIGN(const TensorId below, node.emit(OpKind::kLess, {x, low}));
  MODELD_ASSIGN(const TensorId minus, node.emit(OpKind::kSub, {x, bias}));
  MODELD_ASSIGN(const TensorId plus, node.emit(OpKind::kAdd, {x, bias}));
  MODELD_ASSIGN(const TensorId rest, node.emit(OpKind::kWhere, {below, plus, zero}));
  return emit_to_output(node, OpKind::kWhere, {above, minus, rest});
}

Status exclusive_or(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  if (node.dtype(0) != DType::kBool) return node.refused("not truth values");
  MODELD_ASSIGN(const TensorId equal, node.emit(OpKind::kEqual, node.inputs()));
  return emit_to_output(node, OpKind::kNot, {equal});
}

// Only NaN differs from itself.
Status is_nan(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  MODELD_ASSIGN(const TensorId equal, node.emit(OpKind::kEqual, {node.input(0), node.input(0)}));
  return emit_to_output(node, OpKind::kNot, {equal});
}

Status is_inf(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const bool negative = node.attr_int("detect_negative", 1) != 0;
  const bool positive = node.attr_int("detect_positive", 1) != 0;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TensorId x = node.input(0);
  if (negative && positive) {
    MODELD_ASSIGN(x, node.emit(OpKind::kAbs, {x}));
  }
  // Nothing equals NaN.
  const double wanted = positive   ? kInfinity
                        : negative ? -kInfinity
                                   : std::numeric_limits<double>::quiet_NaN();
  MODELD_ASSIGN(const TensorId bound, node.scalar_like(x, wanted));
  return emit_to_output(node, OpKind::kEqual, {x, bound});
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"Abs", unary<OpKind::kAbs>},
    {"Acos", unary<OpKind::kAcos>},
    {"Acosh", unary<OpKind::kAcosh>},
    {"Add", binary<OpKind::kAdd>},
    {"And", binary<OpKind::kAnd>},
    {"Asin", unary<OpKind::kAsin>},
    {"Asinh", unary<OpKind::kAsinh>},
    {"Atan", unary<OpKind::kAtan>},
    {"Atanh", unary<OpKind::kAtanh>},
    {"Ceil", unary<OpKind::kCeil>},
    {"Celu", celu},
    {"Clip", clip},
    {"Cos", unary<OpKind::kCos>},
    {"Cosh", unary<OpKind::kCosh>},
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
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"LeakyRelu", leaky_relu},
    {"Less", binary<OpKind::kLess>},
    {"LessOrEqual", binary<OpKind::kLessOrEqual>},
    {"Log", unary<OpKind::kLog>},
    {"Max", extremum<OpKind::kMax>},
    {"Mean", mean},
    {"Min", extremum<OpKind::kMin>},
    {"Mish", unary<OpKind::kMish>},
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
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", unary<OpKind::kSigmoid>},
    {"Sign", unary<OpKind::kSign>},
    {"Sin", unary<OpKind::kSin>},
    {"Sinh", unary<OpKind::kSinh>},
    {"Softplus", unary<OpKind::kSoftplus>},
    {"Softsign", softsign},
    {"Sqrt", unary<OpKind::kSqrt>},
    {"Sub", binary<OpKind::kSub>},
    {"Sum", sum},
    {"Tan", unary<OpKind::kTan>},
    {"Tanh", unary<OpKind::kTanh>},
    {"ThresholdedRelu", thresholded_relu},
    {"Where", where},
    {"Xor", exclusive_or},
});

}  // namespace

std::span<const ImporterRow> elementwise_importers() {
  return kImporters;
}

}  // namespace modeld::compile
