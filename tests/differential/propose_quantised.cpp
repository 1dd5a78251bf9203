// Integers that stand for numbers, and their products.
#include "tests/differential/case_maker.h"

namespace modeld::test {
namespace {

Operand zero_point(Random& random, DType dtype, Shape shape = {}) {
  return {{dtype, std::move(shape)}, random.chance(0.7) ? Values::kPlain : Values::kWide, 0.8};
}

DType byte(Random& random) {
  return random.pick({DType::kInt8, DType::kUInt8});
}

}  // namespace

Proposal propose_quantised(Random& random, OpKind kind) {
  Proposal proposal;
  const bool quantise = to_string(kind) == "QuantizeLinear";
  const Shape shape = random_shape(random, 1, 4);
  const DType small =
      random.chance(0.8) ? byte(random) : random.pick({DType::kInt16, DType::kUInt16});
  const DType number = random.chance(0.8) ? DType::kFloat32 : DType::kFloat16;
  const Values values = random.chance(0.7) ? Values::kPlain : Values::kWide;
  proposal.inputs.push_back(Operand{{quantise ? number : small, shape}, values});
  proposal.inputs.push_back(Operand{{number, {}}, Values::kPositive, 0.8});
  if (random.chance(0.7)) proposal.inputs.push_back(zero_point(random, small));
  proposal.attributes["to"] = std::string(to_string(quantise ? small : number));
  // ONNX Runtime does not round a quotient of halves to a half, which moves ties by one step.
  if (quantise && number == DType::kFloat16) proposal.portable = false;
  return proposal;
}

Proposal propose_integer(Random& random, OpKind kind) {
  Proposal proposal;
  const DType left = byte(random);
  const DType right = byte(random);
  if (to_string(kind) == "MatMulInteger") {
    const int64_t m = random_extent(random);
    const int64_t k = random_extent(random) * random.pick<int64_t>({1, 1, 4});
    const int64_t n = random_extent(random);
    Shape a = {m, k};
    if (random.chance(0.3)) a.insert(a.begin(), random.between(1, 3));
    proposal.inputs.push_back(Operand{{left, a}, Values::kWide});
    proposal.inputs.push_back(Operand{{right, {k, n}}, Values::kWide, 0.8});
  } else {
    Proposal like = propose_convolution(random, OpKind::kConv);
    Operand x = *like.inputs[0];
    Operand w = *like.inputs[1];
    x.type.dtype = left;
    w.type.dtype = right;
    x.values = w.values = Values::kWide;
    for (const char* name : {"activation", "activation_alpha", "activation_beta"}) {
      like.attributes.erase(name);
    }
    proposal.attributes = like.attributes;
    proposal.inputs = {x, w};
  }
  if (random.chance(0.7)) {
    proposal.inputs.push_back(zero_point(random, left));
    if (random.chance(0.6)) proposal.inputs.push_back(zero_point(random, right));
  }
  return proposal;
}

}  // namespace modeld::test
