#include "tests/differential/case_maker.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/program/op_schema.h"

namespace modeld::test {

DType random_dtype(Random& random) {
  if (random.chance(0.5)) return DType::kFloat32;
  return random.pick({DType::kFloat64, DType::kFloat16, DType::kFloat16, DType::kBFloat16,
                      DType::kInt8, DType::kUInt8, DType::kInt16, DType::kUInt16, DType::kInt32,
                      DType::kUInt32, DType::kInt64, DType::kUInt64, DType::kBool});
}

DType random_float(Random& random) {
  if (random.chance(0.7)) return DType::kFloat32;
  return random.pick({DType::kFloat64, DType::kFloat16, DType::kFloat16, DType::kBFloat16});
}

int64_t random_extent(Random& random) {
  return random.pick<int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 31, 33});
}

Shape random_shape(Random& random, size_t least_rank, size_t most_rank) {
  constexpr int64_t kMostElements = 4096;
  const auto rank = static_cast<size_t>(
      random.between(static_cast<int64_t>(least_rank), static_cast<int64_t>(most_rank)));
  Shape shape(rank);
  for (int64_t& extent : shape) extent = random_extent(random);
  while (checked_elements(shape).value_or(kMostElements + 1) > kMostElements) {
    *std::max_element(shape.begin(), shape.end()) = random.between(1, 5);
  }
  return shape;
}

Shape narrowed(Random& random, Shape shape) {
  if (random.chance(0.4)) return shape;
  for (int64_t& extent : shape) {
    if (random.chance(0.4)) extent = 1;
  }
  if (random.chance(0.4)) {
    const auto gone = random.between(0, static_cast<int64_t>(shape.size()));
    shape.erase(shape.begin(), shape.begin() + gone);
  }
  return shape;
}

Values random_values(Random& random, Values worst) {
  if (random.chance(0.6)) return Values::kPlain;
  return random.chance(0.5) ? Values::kWide : worst;
}

namespace {

AttributeValue generic_value(Random& random, AttributeKind kind, size_t rank) {
  switch (kind) {
    case AttributeKind::kInt:
      return random.between(0, 2);
    case AttributeKind::kFloat:
      return random.uniform(0, 1);
    case AttributeKind::kString:
      return random.pick<std::string>({"none", "constant", "linear", "nearest", "tanh"});
    case AttributeKind::kInts: {
      std::vector<int64_t> values;
      for (size_t i = 0; i < rank; ++i) values.push_back(random.between(0, 3));
      return values;
    }
    default: {
      std::vector<double> values;
      for (size_t i = 0; i < rank; ++i) values.push_back(random.uniform(0, 2));
      return values;
    }
  }
}

}  // namespace

Proposal generic_proposal(Random& random, OpKind kind) {
  const OpSchema& schema = op_schema(kind);
  const TensorType type{random_dtype(random), random_shape(random, 1, 4)};
  Proposal proposal;
  const auto most = static_cast<int64_t>(std::min(schema.max_inputs, schema.min_inputs + 2));
  const auto count = random.between(static_cast<int64_t>(schema.min_inputs), most);
  for (int64_t i = 0; i < count; ++i) proposal.inputs.push_back(Operand{type});
  for (const AttributeRule& rule : schema.attributes) {
    if (!rule.required && random.chance(0.5)) continue;
    proposal.attributes[std::string(rule.name)] =
        generic_value(random, rule.kind, type.shape.size());
  }
  return proposal;
}

std::string_view reason_not_generated(OpKind kind) {
  switch (kind) {
    case OpKind::kWarp:
      return "reads a camera frame; bit-exact tests of its own in tests/warp and tests/conformance";
    case OpKind::kAttention:
    case OpKind::kPointwise:
      return "stands for other ops: graph cases hold what the compiler makes it of";
    default:
      return "";
  }
}

// By name, as the schema spells it.
Generator generator_of(OpKind kind) {
  using Row = std::pair<std::string_view, Generator>;
  static constexpr auto kRows = std::to_array<Row>({
      {"Abs", propose_elementwise},
      {"Acos", propose_elementwise},
      {"Acosh", propose_elementwise},
      {"Add", propose_binary},
      {"And", propose_binary},
      {"ArgMax", propose_reduction},
      {"ArgMin", propose_reduction},
      {"Asin", propose_elementwise},
      {"Asinh", propose_elementwise},
      {"Atan", propose_elementwise},
      {"Atanh", propose_elementwise},
      {"AveragePool", propose_pool},
      {"BatchNormalization", propose_normalisation},
      {"Cast", propose_elementwise},
      {"Ceil", propose_elementwise},
      {"Clip", propose_elementwise},
      {"Concat", propose_move},
      {"Conv", propose_convolution},
      {"ConvInteger", propose_integer},
      {"ConvTranspose", propose_convolution},
      {"Cos", propose_elementwise},
      {"Cosh", propose_elementwise},
      {"CumSum", propose_indexed},
      {"DequantizeLinear", propose_quantised},
      {"Div", propose_binary},
      {"Elu", propose_elementwise},
      {"Equal", propose_binary},
      {"Erf", propose_elementwise},
      {"Exp", propose_elementwise},
      {"Expand", propose_move},
      {"Floor", propose_elementwise},
      {"GRU", propose_recurrent},
      {"Gather", propose_move},
      {"GatherElements", propose_indexed},
      {"GatherND", propose_indexed},
      {"Gelu", propose_elementwise},
      {"Gemm", propose_product},
      {"Greater", propose_binary},
      {"GreaterOrEqual", propose_binary},
      {"HardSigmoid", propose_elementwise},
      {"HardSwish", propose_elementwise},
      {"LSTM", propose_recurrent},
      {"LayerNormalization", propose_normalisation},
      {"LeakyRelu", propose_elementwise},
      {"Less", propose_binary},
      {"LessOrEqual", propose_binary},
      {"Log", propose_elementwise},
      {"LogSoftmax", propose_normalisation},
      {"MatMul", propose_product},
      {"MatMulInteger", propose_integer},
      {"Max", propose_binary},
      {"MaxPool", propose_pool},
      {"Min", propose_binary},
      {"Mish", propose_elementwise},
      {"Mod", propose_binary},
      {"Mul", propose_binary},
      {"Neg", propose_elementwise},
      {"NonMaxSuppression", propose_indexed},
      {"Not", propose_elementwise},
      {"Or", propose_binary},
      {"PRelu", propose_binary},
      {"Pad", propose_move},
      {"Pow", propose_binary},
      {"QuantizeLinear", propose_quantised},
      {"RMSNormalization", propose_normalisation},
      {"RNN", propose_recurrent},
      {"Reciprocal", propose_elementwise},
      {"ReduceL1", propose_reduction},
      {"ReduceL2", propose_reduction},
      {"ReduceLogSumExp", propose_reduction},
      {"ReduceMax", propose_reduction},
      {"ReduceMean", propose_reduction},
      {"ReduceMin", propose_reduction},
      {"ReduceProd", propose_reduction},
      {"ReduceSum", propose_reduction},
      {"ReduceSumSquare", propose_reduction},
      {"Relu", propose_elementwise},
      {"Reshape", propose_move},
      {"Resize", propose_resize},
      {"Round", propose_elementwise},
      {"ScatterElements", propose_indexed},
      {"ScatterND", propose_indexed},
      {"Sigmoid", propose_elementwise},
      {"Sign", propose_elementwise},
      {"Silu", propose_elementwise},
      {"Sin", propose_elementwise},
      {"Sinh", propose_elementwise},
      {"Slice", propose_move},
      {"Softmax", propose_normalisation},
      {"Softplus", propose_elementwise},
      {"Split", propose_move},
      {"Sqrt", propose_elementwise},
      {"Sub", propose_binary},
      {"Tan", propose_elementwise},
      {"Tanh", propose_elementwise},
      {"Tile", propose_move},
      {"TopK", propose_indexed},
      {"Transpose", propose_move},
      {"Where", propose_where},
  });
  for (const auto& [name, generator] : kRows) {
    if (name == to_string(kind)) return generator;
  }
  return nullptr;
}

}  // namespace modeld::test
