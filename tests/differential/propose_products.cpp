// Products, convolutions and pools.
#include <algorithm>

#include "runtime/program/infer.h"
#include "tests/differential/case_maker.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

Ints list(Random& random, size_t count, std::initializer_list<int64_t> from) {
  Ints values(count);
  for (int64_t& value : values) value = random.pick(from);
  return values;
}

void maybe_activation(Random& random, Proposal& proposal) {
  if (!random.chance(0.2)) return;
  const auto name =
      random.pick<std::string>({"Relu", "Clip", "Sigmoid", "Tanh", "Silu", "Gelu", "GeluTanh",
                                "HardSwish", "HardSigmoid", "LeakyRelu", "Elu"});
  proposal.attributes["activation"] = name;
  if (name == "Clip") {
    proposal.attributes["activation_alpha"] = -0.5;
    proposal.attributes["activation_beta"] = 1.5;
  } else if (name == "HardSigmoid") {
    proposal.attributes["activation_alpha"] = 0.2;
    proposal.attributes["activation_beta"] = 0.5;
  } else if (name == "LeakyRelu" || name == "Elu") {
    proposal.attributes["activation_alpha"] = 0.25;
  }
}

DType product_dtype(Random& random) {
  if (random.chance(0.8)) return random_float(random);
  return random.pick({DType::kInt32, DType::kInt64, DType::kUInt32, DType::kUInt64});
}

Proposal propose_gemm(Random& random) {
  Proposal proposal;
  const DType dtype = product_dtype(random);
  const Values values = random_values(random, Values::kHuge);
  proposal.portable = values != Values::kHuge;
  const int64_t m = random_extent(random);
  const int64_t k = random_extent(random) * random.pick<int64_t>({1, 1, 4});
  const int64_t n = random_extent(random);
  const bool trans_a = random.chance(0.3);
  const bool trans_b = random.chance(0.5);
  const bool factors = is_float(dtype) && random.chance(0.4);
  proposal.attributes = {{"alpha", factors ? random.pick({0.5, 2.0, 1.0}) : 1.0},
                         {"beta", factors ? random.pick({0.5, 0.0, 1.0}) : 1.0},
                         {"trans_a", int64_t{trans_a}},
                         {"trans_b", int64_t{trans_b}}};
  proposal.inputs.push_back(Operand{{dtype, trans_a ? Shape{k, m} : Shape{m, k}}, values});
  // Who multiplies by alpha and beta when is nobody's promise, nor whether 0 times NaN counts.
  const Values scaled = factors && values == Values::kHuge ? Values::kPlain : values;
  proposal.inputs.push_back(Operand{{dtype, trans_b ? Shape{n, k} : Shape{k, n}}, scaled, 0.7});
  if (random.chance(0.6)) {
    proposal.inputs.push_back(Operand{{dtype, narrowed(random, {m, n})}, scaled, 0.7});
    if (random.chance(0.15)) proposal.inputs.push_back(Operand{{dtype, {m, n}}, values});
  }
  if (is_float(dtype)) maybe_activation(random, proposal);
  return proposal;
}

Proposal propose_matmul(Random& random) {
  Proposal proposal;
  const DType dtype = product_dtype(random);
  const Values values = random_values(random, Values::kHuge);
  proposal.portable = values != Values::kHuge;
  const Shape batch = random_shape(random, 0, 2);
  Shape a = narrowed(random, batch);
  Shape b = narrowed(random, batch);
  const int64_t m = random_extent(random);
  const int64_t k = random_extent(random) * random.pick<int64_t>({1, 1, 4});
  const int64_t n = random_extent(random);
  const bool vector_a = random.chance(0.1);
  const bool vector_b = random.chance(0.1);
  if (!vector_a) a.push_back(m);
  if (vector_a) a.clear();
  a.push_back(k);
  if (vector_b) b.clear();
  b.push_back(k);
  if (!vector_b) b.push_back(n);
  proposal.inputs.push_back(Operand{{dtype, a}, values});
  proposal.inputs.push_back(Operand{{dtype, b}, values, 0.5});
  if (!vector_b && random.chance(0.15)) {
    proposal.inputs.push_back(Operand{{dtype, {n}}, values, 0.8});
  }
  if (is_float(dtype) && random.chance(0.5)) maybe_activation(random, proposal);
  return proposal;
}

// Something of the output's shape to be added, if there is an output.
void add_residual(Random& random, Proposal& proposal, DType dtype, Values values) {
  Attributes attributes;
  for (const auto& [name, value] : proposal.attributes) attributes.set(name, value);
  std::vector<const TensorType*> types;
  for (const auto& input : proposal.inputs) types.push_back(&input->type);
  const auto output = infer_types(OpKind::kConv, attributes, types);
  if (!output.ok()) return;
  if (proposal.inputs.size() == 2) proposal.inputs.emplace_back();
  const double constant = random.pick({0.0, 1.0});
  proposal.inputs.push_back(Operand{{dtype, (*output)[0].shape}, values, constant});
}

}  // namespace

Proposal propose_product(Random& random, OpKind kind) {
  return kind == OpKind::kGemm ? propose_gemm(random) : propose_matmul(random);
}

Proposal propose_convolution(Random& random, OpKind kind) {
  Proposal proposal;
  const bool transposed = kind == OpKind::kConvTranspose;
  const DType dtype = random_float(random);
  const Values values = random_values(random, Values::kHuge);
  proposal.portable = values != Values::kHuge;
  const auto axes = static_cast<size_t>(random.pick<int64_t>({1, 2, 2, 2, 2, 3}));
  const int64_t group = random.pick<int64_t>({1, 1, 1, 2, 3, 4, 8});
  const int64_t in = group * random.pick<int64_t>({1, 1, 2, 3, 5, 8, 16});
  const int64_t out_per_group = random.pick<int64_t>({1, 1, 2, 3, 4, 7, 16});
  Shape x = {random.pick<int64_t>({1, 1, 1, 2, 3}), in};
  Shape w = transposed ? Shape{in, out_per_group} : Shape{out_per_group * group, in / group};
  const int64_t widest = axes == 3 ? 5 : 13;
  for (size_t i = 0; i < axes; ++i) {
    x.push_back(random.between(1, widest));
    w.push_back(random.pick<int64_t>({1, 1, 2, 3, 3, 4, 5, 7}));
  }
  proposal.attributes = {{"strides", list(random, axes, {1, 1, 1, 2, 3})},
                         {"pads", list(random, 2 * axes, {0, 0, 1, 1, 2, 3})},
                         {"dilations", list(random, axes, {1, 1, 1, 2, 3})},
                         {"group", group}};
  if (transposed) proposal.attributes["output_padding"] = list(random, axes, {0, 0, 1});
  maybe_activation(random, proposal);
  proposal.inputs.push_back(Operand{{dtype, x}, values});
  // Padding is no term of the sum, but 0 times an infinite weight would be one.
  const Values finite = values == Values::kHuge ? Values::kPlain : values;
  proposal.inputs.push_back(Operand{{dtype, w}, finite, 0.8});
  if (random.chance(0.6)) {
    proposal.inputs.push_back(Operand{{dtype, {out_per_group * group}}, values, 0.8});
  }
  if (!transposed && random.chance(0.2)) add_residual(random, proposal, dtype, values);
  return proposal;
}

Proposal propose_pool(Random& random, OpKind kind) {
  Proposal proposal;
  const Values values = random_values(random, Values::kSpecial);
  proposal.portable = values != Values::kSpecial;
  const auto axes = static_cast<size_t>(random.pick<int64_t>({1, 2, 2, 2, 3}));
  const DType dtype = kind == OpKind::kMaxPool && random.chance(0.2)
                          ? random.pick({DType::kInt8, DType::kUInt8})
                          : random_float(random);
  Shape x = {random.between(1, 2), random_extent(random)};
  Ints kernel;
  Ints pads(2 * axes);
  for (size_t i = 0; i < axes; ++i) {
    x.push_back(random.between(1, axes == 3 ? 5 : 14));
    kernel.push_back(random.pick<int64_t>({1, 2, 2, 3, 3, 4, 5}));
    // A window that sees padding only has no maximum and no mean.
    pads[i] = random.between(0, kernel[i] - 1);
    pads[axes + i] = random.between(0, kernel[i] - 1);
  }
  proposal.attributes = {{"kernel_shape", kernel},
                         {"strides", list(random, axes, {1, 1, 2, 2, 3})},
                         {"pads", pads},
                         {"dilations", list(random, axes, {1, 1, 1, 2})},
                         {"ceil_mode", int64_t{random.chance(0.4)}}};
  for (const int64_t dilation : std::get<Ints>(proposal.attributes["dilations"])) {
    // Wide windows may miss the picture all the same: 0 / 0 here, 0 elsewhere.
    if (kind == OpKind::kAveragePool && dilation > 1) proposal.portable = false;
  }
  if (kind == OpKind::kAveragePool && random.chance(0.4)) {
    proposal.attributes["count_include_pad"] = int64_t{1};
  }
  proposal.inputs.push_back(Operand{{dtype, x}, values});
  return proposal;
}

}  // namespace modeld::test
