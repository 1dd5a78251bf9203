// Functions of one input, of two and more broadcast ones, Where and Cast.
#include "tests/differential/case_maker.h"

namespace modeld::test {
namespace {

// f16 ends at 65504: what a cast to an integer makes of more is ONNX's silence.
bool overflows(DType from, DType to, Values values) {
  return is_float(from) && !is_float(to) && to != DType::kBool && values != Values::kPlain;
}

}  // namespace

Proposal propose_elementwise(Random& random, OpKind kind) {
  using enum OpKind;
  Proposal proposal;
  const Values values = random_values(random, Values::kExtreme);
  Operand x{{random_dtype(random), random_shape(random, 0, 5)}, values};
  if (kind == kLog || kind == kSqrt) {
    x.values = random.chance(0.7) ? Values::kPositive : values;
  }
  switch (kind) {
    case kCast: {
      const DType to = random_dtype(random);
      proposal.attributes["to"] = std::string(to_string(to));
      proposal.portable = !overflows(x.type.dtype, to, values) && values != Values::kExtreme;
      // A negative number as an unsigned one is another silence.
      if (is_float(x.type.dtype) && !is_float(to))
        x.values = random.chance(0.5) ? values : Values::kPositive;
      proposal.portable = proposal.portable && x.values == Values::kPositive;
      if (!is_float(x.type.dtype) || is_float(to)) proposal.portable = values != Values::kExtreme;
      break;
    }
    case kClip:
      if (random.chance(0.8))
        proposal.attributes["min"] = static_cast<double>(random.between(-6, 0));
      if (random.chance(0.8))
        proposal.attributes["max"] = static_cast<double>(random.between(1, 6));
      break;
    case kElu:
    case kLeakyRelu:
      proposal.attributes["alpha"] = random.pick({0.0, 0.1, 0.5, 1.0, 1.5, -0.25});
      break;
    case kHardSigmoid:
      proposal.attributes["alpha"] = random.pick({0.2, 1.0 / 6, 0.5});
      proposal.attributes["beta"] = random.pick({0.5, 0.25});
      break;
    case kGelu:
      proposal.attributes["approximate"] = random.pick<std::string>({"none", "tanh"});
      // Elsewhere the constants of the formula are float32.
      if (x.type.dtype == DType::kFloat64) proposal.portable = false;
      break;
    default:
      break;
  }
  // ONNX says nothing of NaN here, and of subnormals nobody promises much.
  if (kind != kCast && values == Values::kExtreme) proposal.portable = false;
  proposal.inputs.push_back(x);
  return proposal;
}

Proposal propose_binary(Random& random, OpKind kind) {
  using enum OpKind;
  Proposal proposal;
  const Values values = random_values(random, Values::kExtreme);
  proposal.portable = values != Values::kExtreme;
  DType dtype = random_dtype(random);
  if (kind == kAnd || kind == kOr) dtype = DType::kBool;
  const Shape shape = random_shape(random, 0, 5);
  Operand a{{dtype, shape}, values};
  Operand b{{dtype, narrowed(random, shape)}, values, 0.4};
  if (kind != kPRelu && random.chance(0.3)) a.type.shape = narrowed(random, shape);
  if (random.chance(0.2) && kind != kPRelu) std::swap(a.type.shape, b.type.shape);
  switch (kind) {
    case kDiv:
    case kMod:
      if (kind == kMod && is_float(dtype)) proposal.attributes["fmod"] = int64_t{1};
      if (kind == kMod && !is_float(dtype) && random.chance(0.3)) {
        proposal.attributes["fmod"] = int64_t{1};
        proposal.portable = false;  // ONNX Runtime goes through double
      }
      if (random.chance(0.8)) {
        b.values = Values::kNonZero;
      } else if (!is_float(dtype)) {
        proposal.portable = false;
      }
      break;
    case kPow:
      if (random.chance(0.3)) {
        b.type.dtype = random_dtype(random);
        proposal.portable = b.type.dtype == dtype && proposal.portable;
      }
      if (random.chance(0.6)) {
        a.values = Values::kPositive;
        b.values = Values::kPlain;
      }
      if (random.chance(0.3)) {
        b.exact = std::vector<double>{random.pick({2.0, 1.0, 0.0, 3.0})};
        b.type.shape = {};
        b.constant = 1;
      }
      if (!is_float(dtype) || a.values != Values::kPositive) proposal.portable = false;
      break;
    case kMax:
    case kMin: {
      const int64_t more = random.between(0, 2);
      for (int64_t i = 0; i < more; ++i) {
        proposal.inputs.push_back(Operand{{dtype, narrowed(random, shape)}, values});
      }
      break;
    }
    default:
      break;
  }
  proposal.inputs.insert(proposal.inputs.begin(), {a, b});
  return proposal;
}

Proposal propose_where(Random& random, OpKind) {
  Proposal proposal;
  const Shape shape = random_shape(random, 0, 4);
  const DType dtype = random_dtype(random);
  const Values values = random_values(random, Values::kExtreme);
  proposal.inputs.push_back(Operand{{DType::kBool, narrowed(random, shape)}});
  proposal.inputs.push_back(Operand{{dtype, narrowed(random, shape)}, values});
  proposal.inputs.push_back(Operand{{dtype, narrowed(random, shape)}, values});
  return proposal;
}

}  // namespace modeld::test
