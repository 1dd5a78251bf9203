#include "tests/differential/case_maker.h"

#include <algorithm>

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
    default:
      return "";
  }
}

Generator generator_of(OpKind kind) {
  using enum OpKind;
  switch (kind) {
    case kAbs:
    case kCeil:
    case kClip:
    case kElu:
    case kErf:
    case kExp:
    case kFloor:
    case kGelu:
    case kHardSigmoid:
    case kHardSwish:
    case kLeakyRelu:
    case kLog:
    case kNeg:
    case kNot:
    case kReciprocal:
    case kRelu:
    case kRound:
    case kSigmoid:
    case kSilu:
    case kSoftplus:
    case kSqrt:
    case kTanh:
    case kCast:
      return propose_elementwise;
    case kAdd:
    case kAnd:
    case kDiv:
    case kEqual:
    case kGreater:
    case kGreaterOrEqual:
    case kLess:
    case kLessOrEqual:
    case kMax:
    case kMin:
    case kMod:
    case kMul:
    case kOr:
    case kPow:
    case kPRelu:
    case kSub:
      return propose_binary;
    case kWhere:
      return propose_where;
    case kGemm:
    case kMatMul:
      return propose_product;
    case kConv:
    case kConvTranspose:
      return propose_convolution;
    case kAveragePool:
    case kMaxPool:
      return propose_pool;
    case kBatchNormalization:
    case kLayerNormalization:
    case kSoftmax:
      return propose_normalisation;
    case kReduceL1:
    case kReduceL2:
    case kReduceMax:
    case kReduceMean:
    case kReduceMin:
    case kReduceProd:
    case kReduceSum:
    case kReduceSumSquare:
    case kArgMax:
    case kArgMin:
      return propose_reduction;
    case kResize:
      return propose_resize;
    case kConcat:
    case kExpand:
    case kGather:
    case kPad:
    case kReshape:
    case kSlice:
    case kSplit:
    case kTile:
    case kTranspose:
      return propose_move;
    default:
      return nullptr;
  }
}

}  // namespace modeld::test
