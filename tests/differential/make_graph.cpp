#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/differential/case_maker.h"
#include "tests/differential/make_case.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

class GraphMaker {
 public:
  GraphMaker(Random& random, FuzzCase& made) : random_(random), made_(made) {}

  void run();

 private:
  TensorId any() { return random_.chance(0.7) ? known_.back() : random_.pick_of(known_); }
  const Shape& shape(TensorId id) const { return made_.program.type(id).shape; }
  TensorId add(OpKind kind, std::vector<TensorId> inputs, Attributes::Map attributes = {}) {
    known_.push_back(made_.program.op(kind, std::move(inputs), std::move(attributes)));
    return known_.back();
  }
  TensorId scalar(double value) { return made_.program.constant(make_tensor(dtype_, {}, {value})); }
  TensorId weights(const Shape& shape, Values values, double factor);
  TensorId input(const Shape& shape);
  TensorId joined(OpKind kind, TensorId a, TensorId b) { return add(kind, {a, b}); }

  void step();
  void convolution();
  void product();
  void activation();
  void with_constant();
  void with_another();
  void move();
  void pool_or_reduce();
  void layer_norm();
  void rms_norm();
  void note_normalisation();
  void quantised();
  TensorId requantised(TensorId x);
  void gelu();
  void hard_swish();
  void transposed_pair();
  void attention();
  void twice();

  Random& random_;
  FuzzCase& made_;
  DType dtype_ = DType::kFloat32;
  int normalisations_ = 0;
  std::vector<TensorId> known_;
};

TensorId GraphMaker::weights(const Shape& shape, Values values, double factor) {
  const TensorType type{DType::kFloat64, shape};
  std::vector<double> numbers = to_doubles(DType::kFloat64, random_bytes(random_, type, values));
  for (double& number : numbers) number *= factor;
  return made_.program.constant(make_tensor(dtype_, shape, numbers));
}

TensorId GraphMaker::input(const Shape& shape) {
  const TensorType type{dtype_, shape};
  made_.inputs.push_back(random_bytes(random_, type, Values::kPlain));
  known_.push_back(made_.program.input("in" + std::to_string(made_.inputs.size() - 1), type));
  return known_.back();
}

void GraphMaker::convolution() {
  const TensorId x = any();
  const Shape& from = shape(x);
  if (from.size() != 4) return product();
  const int64_t group = from[1] % 2 == 0 && random_.chance(0.3) ? 2 : 1;
  const int64_t out = group * random_.pick<int64_t>({1, 2, 3, 5, 8, 16});
  const int64_t kernel = random_.pick<int64_t>({1, 1, 3, 3, 5});
  const int64_t per_group = from[1] / group;
  const double factor = 1 / std::sqrt(static_cast<double>(per_group * kernel * kernel));
  const bool transposed = random_.chance(0.2);
  const Shape shape = transposed ? Shape{from[1], out / group, kernel, kernel}
                                 : Shape{out, per_group, kernel, kernel};
  std::vector<TensorId> inputs = {x, weights(shape, Values::kPlain, factor)};
  if (random_.chance(0.5)) inputs.push_back(weights({out}, Values::kUnit, 1));
  const int64_t stride = random_.pick<int64_t>({1, 1, 2});
  const int64_t pad = kernel / 2;
  Attributes::Map attributes = {{"strides", Ints{stride, stride}},
                                {"pads", Ints{pad, pad, pad, pad}},
                                {"dilations", Ints{1, 1}},
                                {"group", group}};
  if (transposed) attributes["output_padding"] = Ints{0, 0};
  add(transposed ? OpKind::kConvTranspose : OpKind::kConv, inputs, attributes);
  if (!random_.chance(0.4)) return;
  add(OpKind::kBatchNormalization,
      {known_.back(), weights({out}, Values::kUnit, 1), weights({out}, Values::kUnit, 1),
       weights({out}, Values::kUnit, 1), weights({out}, Values::kPositive, 1)},
      {{"epsilon", 1e-3}});
}

void GraphMaker::product() {
  const TensorId x = any();
  const Shape& from = shape(x);
  if (from.empty()) return activation();
  const int64_t out = random_.pick<int64_t>({1, 2, 3, 8, 16, 17});
  const double factor = 1 / std::sqrt(static_cast<double>(from.back()));
  add(OpKind::kMatMul, {x, weights({from.back(), out}, Values::kPlain, factor)});
  if (random_.chance(0.6)) add(OpKind::kAdd, {known_.back(), weights({out}, Values::kUnit, 1)});
}

void GraphMaker::activation() {
  using enum OpKind;
  const TensorId x = any();
  const OpKind kind = random_.pick({kRelu, kSigmoid, kTanh, kSilu, kHardSwish, kClip, kLeakyRelu,
                                    kElu, kHardSigmoid, kAbs, kNeg});
  Attributes::Map attributes;
  if (kind == kClip) attributes = {{"min", -1.0}, {"max", 2.0}};
  if (kind == kLeakyRelu || kind == kElu) attributes = {{"alpha", 0.25}};
  if (kind == kHardSigmoid) attributes = {{"alpha", 0.25}, {"beta", 0.5}};
  add(kind, {x}, attributes);
}

void GraphMaker::with_constant() {
  const TensorId x = any();
  const OpKind kind = random_.pick({OpKind::kAdd, OpKind::kMul, OpKind::kSub, OpKind::kMax});
  const TensorId other =
      weights(narrowed(random_, shape(x)), Values::kUnit, kind == OpKind::kMul ? 1.5 : 1);
  if (random_.chance(0.7)) {
    add(kind, {x, other});
  } else {
    add(kind, {other, x});
  }
}

void GraphMaker::with_another() {
  const TensorId x = any();
  std::vector<TensorId> same;
  for (const TensorId id : known_) {
    if (id != x && shape(id) == shape(x)) same.push_back(id);
  }
  if (same.empty()) return with_constant();
  const TensorId other = random_.pick_of(same);
  if (random_.chance(0.2)) {
    const auto rank = static_cast<int64_t>(shape(x).size());
    if (rank == 0) return with_constant();
    add(OpKind::kConcat, {x, other}, {{"axis", random_.between(0, rank - 1)}});
  } else {
    joined(random_.pick({OpKind::kAdd, OpKind::kSub, OpKind::kMax, OpKind::kMin}), x, other);
  }
}

void GraphMaker::move() {
  using enum OpKind;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const TensorId x = any();
    const OpKind kind = random_.pick({kReshape, kReshape, kTranspose, kTranspose, kSlice, kPad});
    // The proposal is made for a tensor of its own; only its attributes are of use, if they fit.
    Proposal proposal = propose_move(random_, kind);
    if (kind == kReshape && random_.chance(0.7)) {
      Shape to = shape(x);
      if (to.size() > 1) {
        to[to.size() - 2] *= to.back();
        to.pop_back();
      } else {
        to.insert(to.begin(), 1);
      }
      proposal.attributes["shape"] = Ints(to);
    }
    try {
      add(kind, {x}, proposal.attributes);
      // Made for another shape, it may wrap around more than once (propose_move).
      if (made_.program.program().ops.back().attributes.get_string("mode") == "wrap") {
        made_.portable = false;
      }
      return;
    } catch (const std::runtime_error&) {  // attributes for another shape
    }
  }
  activation();
}

void GraphMaker::pool_or_reduce() {
  const TensorId x = any();
  const Shape& from = shape(x);
  if (from.size() == 4 && random_.chance(0.6)) {
    Attributes::Map attributes = {{"kernel_shape", Ints{2, 2}},
                                  {"strides", Ints{1, 1}},
                                  {"pads", Ints{0, 1, 1, 0}},
                                  {"dilations", Ints{1, 1}},
                                  {"ceil_mode", int64_t{0}}};
    add(random_.pick({OpKind::kMaxPool, OpKind::kAveragePool}), {x}, attributes);
    return;
  }
  if (from.empty()) return activation();
  const int64_t last = static_cast<int64_t>(from.size()) - 1;
  if (random_.chance(0.4)) {
    add(OpKind::kSoftmax, {x}, {{"axis", random_.between(0, last)}});
    return;
  }
  const OpKind kind = random_.pick({OpKind::kReduceMean, OpKind::kReduceMax});
  add(kind, {x}, {{"axes", Ints{random_.between(0, last)}}, {"keepdims", int64_t{1}}});
}

// ONNX Runtime rounds halves elsewhere inside a normalisation, and the next one divides what is
// left of that by a small spread: two and more in halves say nothing about either of us.
void GraphMaker::note_normalisation() {
  if (++normalisations_ > 1 && dtype_ == DType::kFloat16) made_.portable = false;
}

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + shift, as exporters spell it.
void GraphMaker::layer_norm() {
  const TensorId x = any();
  if (shape(x).empty() || shape(x).back() < 3) return activation();
  note_normalisation();
  const int64_t last = static_cast<int64_t>(shape(x).size()) - 1;
  const Attributes::Map over = {{"axes", Ints{last}}, {"keepdims", int64_t{1}}};
  const int64_t extent = shape(x).back();
  const TensorId mean = add(OpKind::kReduceMean, {x}, over);
  const TensorId centred = add(OpKind::kSub, {x, mean});
  const TensorId square = random_.chance(0.5) ? add(OpKind::kPow, {centred, scalar(2)})
                                              : add(OpKind::kMul, {centred, centred});
  const TensorId variance = add(OpKind::kReduceMean, {square}, over);
  const TensorId root = add(OpKind::kSqrt, {add(OpKind::kAdd, {variance, scalar(0.01)})});
  add(OpKind::kDiv, {centred, root});
  if (random_.chance(0.8)) {
    add(OpKind::kMul, {known_.back(), weights({extent}, Values::kUnit, 1)});
    add(OpKind::kAdd, {known_.back(), weights({extent}, Values::kUnit, 1)});
  }
}

// x / sqrt(mean(x^2) + epsilon) * scale
void GraphMaker::rms_norm() {
  const TensorId x = any();
  if (shape(x).empty() || shape(x).back() < 3) return activation();
  note_normalisation();
  const int64_t last = static_cast<int64_t>(shape(x).size()) - 1;
  const int64_t extent = shape(x).back();
  const TensorId square =
      random_.chance(0.5) ? add(OpKind::kPow, {x, scalar(2)}) : add(OpKind::kMul, {x, x});
  const TensorId mean =
      add(OpKind::kReduceMean, {square}, {{"axes", Ints{last}}, {"keepdims", int64_t{1}}});
  const TensorId root = add(OpKind::kSqrt, {add(OpKind::kAdd, {mean, scalar(0.01)})});
  if (random_.chance(0.5)) {
    add(OpKind::kDiv, {x, root});
  } else {
    add(OpKind::kMul, {x, add(OpKind::kReciprocal, {root})});
  }
  if (random_.chance(0.8)) {
    add(OpKind::kMul, {known_.back(), weights({extent}, Values::kUnit, 1)});
  }
}

// A pair of QuantizeLinear and DequantizeLinear, as quantisers write them behind everything.
TensorId GraphMaker::requantised(TensorId x) {
  const DType byte = random_.pick({DType::kInt8, DType::kUInt8});
  const TensorId scale = scalar(1.0 / 64);
  const double zero = static_cast<double>(random_.between(byte == DType::kInt8 ? -20 : 40, 60));
  const TensorId origin = made_.program.constant(make_tensor(byte, {}, {zero}));
  const TensorId bytes = made_.program.op(OpKind::kQuantizeLinear, {x, scale, origin},
                                          {{"to", std::string(to_string(byte))}});
  return add(OpKind::kDequantizeLinear, {bytes, scale, origin}, {{"to", std::string("f32")}});
}

// Bytes, a product with weights that are bytes or an addition, perhaps a move, and bytes again. Of
// an input, because a sum near a tie would fall either way, and a whole step would show it. Scales
// are powers of two, so that everything from there on is exact.
void GraphMaker::quantised() {
  const Shape like = shape(any());
  if (dtype_ != DType::kFloat32 || like.size() < 2) return activation();
  const TensorId x = input(like);
  const TensorId left = requantised(x);
  const Shape from = shape(left);
  if (random_.chance(0.3)) {
    add(OpKind::kAdd, {left, requantised(x)});
  } else {
    const bool convolution = from.size() == 4 && random_.chance(0.7);
    const int64_t out = random_.pick<int64_t>({1, 3, 8, 16, 17});
    const int64_t kernel = random_.pick<int64_t>({1, 3});
    const Shape to = convolution ? Shape{out, from[1], kernel, kernel} : Shape{from.back(), out};
    const TensorId values = made_.program.constant(
        {DType::kInt8, to}, random_bytes(random_, {DType::kInt8, to}, Values::kPlain));
    const TensorId weights = made_.program.op(OpKind::kDequantizeLinear, {values, scalar(0.125)},
                                              {{"to", std::string("f32")}});
    if (convolution) {
      const int64_t pad = kernel / 2;
      add(OpKind::kConv, {left, weights},
          {{"strides", Ints{1, 1}},
           {"pads", Ints{pad, pad, pad, pad}},
           {"dilations", Ints{1, 1}},
           {"group", int64_t{1}}});
    } else {
      add(OpKind::kMatMul, {left, weights});
    }
  }
  if (random_.chance(0.5)) add(OpKind::kRelu, {known_.back()});
  if (random_.chance(0.3)) {
    Ints perm;
    for (int64_t i = static_cast<int64_t>(shape(known_.back()).size()); i-- > 0;) perm.push_back(i);
    add(OpKind::kTranspose, {known_.back()}, {{"perm", perm}});
    // ONNX Runtime moves the pair in front of it, where an output may see it.
    made_.portable = false;
  }
  requantised(known_.back());
}

void GraphMaker::gelu() {
  const TensorId x = any();
  if (random_.chance(0.3)) {
    add(OpKind::kMul, {x, add(OpKind::kSigmoid, {x})});
    return;
  }
  const TensorId scaled = add(OpKind::kDiv, {x, scalar(std::sqrt(2.0))});
  const TensorId one = add(OpKind::kAdd, {add(OpKind::kErf, {scaled}), scalar(1)});
  if (random_.chance(0.5)) {
    add(OpKind::kMul, {add(OpKind::kMul, {x, one}), scalar(0.5)});
  } else {
    add(OpKind::kMul, {add(OpKind::kMul, {x, scalar(0.5)}), one});
  }
}

void GraphMaker::hard_swish() {
  const TensorId x = any();
  const TensorId moved = add(OpKind::kAdd, {x, scalar(3)});
  const TensorId clipped = add(OpKind::kClip, {moved}, {{"min", 0.0}, {"max", 6.0}});
  if (random_.chance(0.5)) {
    add(OpKind::kDiv, {add(OpKind::kMul, {x, clipped}), scalar(6)});
  } else {
    add(OpKind::kMul, {x, add(OpKind::kDiv, {clipped, scalar(6)})});
  }
}

void GraphMaker::transposed_pair() {
  const TensorId x = any();
  if (shape(x).size() != 4) return move();
  add(OpKind::kTranspose, {x}, {{"perm", Ints{0, 2, 3, 1}}});
  activation();
  if (shape(known_.back()).size() != 4) return;
  add(OpKind::kTranspose, {known_.back()}, {{"perm", Ints{0, 3, 1, 2}}});
}

void GraphMaker::attention() {
  const TensorId x = any();
  if (shape(x).size() != 3) return product();
  const int64_t tokens = shape(x)[1];
  const int64_t heads = random_.pick<int64_t>({1, 2, 3});
  const int64_t size = random_.pick<int64_t>({1, 2, 4, 8});
  const int64_t batch = shape(x)[0];
  const double factor = 1 / std::sqrt(static_cast<double>(shape(x)[2]));
  const auto head = [&](const Ints& perm) {
    const TensorId projected =
        add(OpKind::kMatMul, {x, weights({shape(x)[2], heads * size}, Values::kPlain, factor)});
    const TensorId split =
        add(OpKind::kReshape, {projected}, {{"shape", Ints{batch, tokens, heads, size}}});
    return add(OpKind::kTranspose, {split}, {{"perm", perm}});
  };
  const TensorId query = head({0, 2, 1, 3});
  const TensorId key = head({0, 2, 3, 1});
  const TensorId value = head({0, 2, 1, 3});
  const TensorId scores = add(OpKind::kMatMul, {query, key});
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  const TensorId scaled = random_.chance(0.5) ? add(OpKind::kMul, {scores, scalar(scale)})
                                              : add(OpKind::kDiv, {scores, scalar(1 / scale)});
  if (random_.chance(0.3)) {
    add(OpKind::kAdd, {scaled, weights({heads, 1, tokens}, Values::kUnit, 1)});
  }
  const TensorId weighted = add(OpKind::kSoftmax, {known_.back()}, {{"axis", int64_t{3}}});
  const TensorId mixed = add(OpKind::kMatMul, {weighted, value});
  add(OpKind::kTranspose, {mixed}, {{"perm", Ints{0, 2, 1, 3}}});
  add(OpKind::kReshape, {known_.back()}, {{"shape", Ints{batch, tokens, heads * size}}});
}

// The same expression over again, as exporters write it.
void GraphMaker::twice() {
  const TensorId x = any();
  const TensorId first = add(OpKind::kSigmoid, {x});
  const TensorId second = add(OpKind::kSigmoid, {x});
  joined(OpKind::kAdd, add(OpKind::kTanh, {first}), second);
}

void GraphMaker::step() {
  using Step = void (GraphMaker::*)();
  static constexpr Step kSteps[] = {
      &GraphMaker::convolution,  &GraphMaker::convolution,    &GraphMaker::product,
      &GraphMaker::activation,   &GraphMaker::activation,     &GraphMaker::with_constant,
      &GraphMaker::with_another, &GraphMaker::with_another,   &GraphMaker::move,
      &GraphMaker::move,         &GraphMaker::pool_or_reduce, &GraphMaker::layer_norm,
      &GraphMaker::gelu,         &GraphMaker::hard_swish,     &GraphMaker::transposed_pair,
      &GraphMaker::attention,    &GraphMaker::twice,          &GraphMaker::rms_norm,
      &GraphMaker::quantised,    &GraphMaker::quantised};
  (this->*random_.pick_of(kSteps))();
}

void GraphMaker::run() {
  if (random_.chance(0.2)) dtype_ = DType::kFloat16;
  const Shape first = random_.chance(0.6) ? Shape{1, random_.pick<int64_t>({1, 2, 3, 4, 8}),
                                                  random_.between(1, 9), random_.between(1, 9)}
                                          : random_shape(random_, 1, 4);
  input(first);
  if (random_.chance(0.4)) input(random_.chance(0.7) ? first : random_shape(random_, 2, 4));
  const int64_t steps = random_.between(2, 9);
  for (int64_t i = 0; i < steps; ++i) step();
  // Whatever nobody reads is asked for, so that nothing is dead; sometimes also something that is
  // read.
  const Program& program = made_.program.program();
  std::vector<bool> read(program.tensors.size(), false);
  for (const Op& op : program.ops) {
    for (const TensorId id : op.inputs) read[id] = true;
  }
  std::vector<TensorId> outputs;
  for (const Op& op : program.ops) {
    for (const TensorId id : op.outputs) {
      if (!read[id] || random_.chance(0.03)) outputs.push_back(id);
    }
  }
  for (const TensorId id : outputs) {
    made_.program.output(id, "out" + std::to_string(program.outputs.size()));
  }
}

}  // namespace

void make_graph(Random& random, FuzzCase& made) {
  GraphMaker(random, made).run();
}

}  // namespace modeld::test
