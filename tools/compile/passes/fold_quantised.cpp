#include "tools/compile/passes/fold_quantised.h"

#include <algorithm>
#include <optional>

#include "tools/compile/passes/matrix_op.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

bool is_byte(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8;
}

// A DequantizeLinear by one constant scale and zero point.
struct Dequantised {
  TensorId value = kNoTensor;
  double scale = 1;
  double zero = 0;
  TensorId scale_id = kNoTensor;
  TensorId zero_id = kNoTensor;
};

std::optional<double> one_constant(const Draft& draft, TensorId id) {
  const HostTensor* constant = draft.constant(id);
  if (constant == nullptr || constant->type.elements() != 1) return std::nullopt;
  return to_doubles(*constant)[0];
}

// Scale and zero point of a QuantizeLinear or DequantizeLinear to or from float32.
std::optional<Dequantised> parameters_of(const Draft& draft, const Op& op) {
  Dequantised found;
  found.value = op.inputs[0];
  found.scale_id = op.inputs[1];
  found.zero_id = input_or_none(op, 2);
  const auto scale = one_constant(draft, found.scale_id);
  if (!scale || draft.dtype(found.scale_id) != DType::kFloat32) return std::nullopt;
  found.scale = *scale;
  if (found.zero_id == kNoTensor) return found;
  const auto zero = one_constant(draft, found.zero_id);
  if (!zero) return std::nullopt;
  found.zero = *zero;
  return found;
}

std::optional<Dequantised> dequantised(const Links& links, const Draft& draft, TensorId id) {
  const auto at = id == kNoTensor ? std::nullopt : links.producer(id, OpKind::kDequantizeLinear);
  if (!at || draft.dtype(id) != DType::kFloat32) return std::nullopt;
  return parameters_of(draft, links.op(*at));
}

// Weights that were bytes, with one scale and zero point, or one per output channel.
struct ByteWeights {
  HostTensor values;
  std::vector<double> scales;  // one, or one per channel
  HostTensor zeros;            // no elements: all zero
};

class ProductFolder {
 public:
  explicit ProductFolder(Draft& draft) : draft_(draft), links_(draft) {}

  Result<Changes> run() {
    std::vector<Op> before = draft_.ops;
    for (Op& op : before) {
      MODELD_ASSIGN(const bool folded, fold(op));
      if (!folded) ops_.push_back(std::move(op));
    }
    draft_.ops = std::move(ops_);
    return changes_;
  }

 private:
  // What is left of a product once its kind is forgotten.
  struct Product {
    OpKind kind;
    Attributes attributes;
    size_t channel_axis;  // of the output
    size_t weight_axis;   // of the weights, after `transposed`
    bool transposed = false;
    TensorId bias = kNoTensor;
  };

  std::optional<Product> product_of(const Op& op) const {
    if (op.attributes.has("activation") || input_or_none(op, kResidualInput) != kNoTensor) {
      return std::nullopt;
    }
    Product product{OpKind::kMatMulInteger, {}, 0, 1};
    product.bias = input_or_none(op, kBiasInput);
    product.channel_axis = channel_axis(op, draft_.shape(op.outputs[0]));
    if (op.kind == OpKind::kConv) {
      product.kind = OpKind::kConvInteger;
      product.attributes = op.attributes;
      product.weight_axis = 0;
      return product;
    }
    if (draft_.shape(op.inputs[1]).size() != 2 || draft_.shape(op.inputs[0]).size() < 2) {
      return std::nullopt;
    }
    if (op.kind == OpKind::kMatMul) return product;
    if (op.kind != OpKind::kGemm || op.attributes.get_int("trans_a") != 0 ||
        op.attributes.get_float("alpha") != 1 || op.attributes.get_float("beta") != 1) {
      return std::nullopt;
    }
    product.transposed = op.attributes.get_int("trans_b") != 0;
    return product;
  }

  Result<HostTensor> transposed(const HostTensor& values) const {
    Op op;
    op.kind = OpKind::kTranspose;
    op.attributes.set("perm", std::vector<int64_t>{1, 0});
    const HostTensor* inputs[] = {&values};
    MODELD_ASSIGN(std::vector<HostTensor> results, evaluate(op, inputs));
    return std::move(results[0]);
  }

  // One element, or one for each channel of the weights, along their axis.
  static bool per_channel(const HostTensor& parameter, const Shape& weights, size_t axis) {
    if (parameter.type.elements() == 1) return true;
    Shape wide(weights.size(), 1);
    wide[axis] = weights[axis];
    Shape own = parameter.type.shape;
    own.insert(own.begin(), wide.size() - std::min(own.size(), wide.size()), 1);
    return own == wide;
  }

  Result<std::optional<ByteWeights>> weights_of(TensorId id, const Product& product) const {
    std::optional<ByteWeights> none;
    if (draft_.constant(id) == nullptr || !draft_.tensors[id].dequantised) return none;
    const auto [value, scale, zero] = *draft_.tensors[id].dequantised;
    const HostTensor& values = *draft_.constant(value);
    if (!is_byte(values.type.dtype) || draft_.dtype(id) != DType::kFloat32) return none;
    const size_t axis = product.transposed ? 1 - product.weight_axis : product.weight_axis;
    const Shape& shape = values.type.shape;
    if (!per_channel(*draft_.constant(scale), shape, axis)) return none;
    if (zero != kNoTensor && !per_channel(*draft_.constant(zero), shape, axis)) return none;
    ByteWeights weights{values, to_doubles(*draft_.constant(scale)), {}};
    if (product.transposed) {
      MODELD_ASSIGN(weights.values, transposed(values));
    }
    if (zero != kNoTensor && uniform_value(*draft_.constant(zero)) != 0.0) {
      weights.zeros = *draft_.constant(zero);
      const int64_t count = weights.zeros.type.elements();
      weights.zeros.type.shape = count == 1 ? Shape{} : Shape{count};
    }
    return std::optional(std::move(weights));
  }

  TensorId emit(const Op& like, OpKind kind, std::vector<TensorId> inputs, TensorType type,
                Attributes attributes = {}) {
    Op op;
    op.kind = kind;
    op.name = like.name;
    op.phase = like.phase;
    op.inputs = std::move(inputs);
    op.attributes = std::move(attributes);
    op.outputs = {draft_.add_tensor(std::move(type), like.name)};
    ops_.push_back(std::move(op));
    return ops_.back().outputs[0];
  }

  // `values` as float32, one or one per channel, to broadcast to the output.
  Result<TensorId> channel_constant(const Op& op, const Product& product,
                                    const std::vector<double>& values, const char* suffix) {
    Shape shape;
    if (values.size() > 1) {
      const size_t rank = draft_.shape(op.outputs[0]).size();
      shape.assign(rank - product.channel_axis, 1);
      shape[0] = static_cast<int64_t>(values.size());
    }
    return draft_.add_constant(from_doubles({DType::kFloat32, shape}, values), op.name + suffix);
  }

  Result<bool> fold(const Op& op) {
    if (!is_matrix_op(op.kind) || op.kind == OpKind::kConvTranspose) return false;
    const auto x = dequantised(links_, draft_, op.inputs[0]);
    if (!x || !is_byte(draft_.dtype(x->value))) return false;
    const auto product = product_of(op);
    if (!product) return false;
    MODELD_ASSIGN(const auto weights, weights_of(op.inputs[1], *product));
    if (!weights) return false;
    std::vector<double> bias;
    if (product->bias != kNoTensor) {
      const HostTensor* constant = draft_.constant(product->bias);
      if (constant == nullptr) return false;
      const Shape& output = draft_.shape(op.outputs[0]);
      const int64_t count = constant->type.elements();
      const bool last = !constant->type.shape.empty() && constant->type.shape.back() == count;
      if (count != 1 && (!last || count != output[product->channel_axis])) return false;
      bias = to_doubles(*constant);
    }
    MODELD_TRY(replace(op, *x, *product, *weights, bias));
    changes_.push_back(std::string(to_string(op.kind)) + " '" + printable(op.name) + "' to " +
                       std::string(to_string(product->kind)));
    return true;
  }

  Status replace(const Op& op, const Dequantised& x, const Product& product,
                 const ByteWeights& weights, const std::vector<double>& bias) {
    MODELD_ASSIGN(const TensorId bytes, draft_.add_constant(weights.values, op.name + ".weights"));
    std::vector<TensorId> inputs = {x.value, bytes};
    if (x.zero != 0 || !weights.zeros.bytes.empty()) {
      // One value, and a scalar, whatever shape it came in.
      TensorId zero = kNoTensor;
      if (x.zero != 0) {
        HostTensor scalar = *draft_.constant(x.zero_id);
        scalar.type.shape = {};
        MODELD_ASSIGN(zero, draft_.add_constant(std::move(scalar), op.name + ".zero"));
      }
      inputs.push_back(zero);
    }
    if (!weights.zeros.bytes.empty()) {
      MODELD_ASSIGN(const TensorId zeros,
                    draft_.add_constant(weights.zeros, op.name + ".weight_zeros"));
      inputs.push_back(zeros);
    }
    const Shape shape = draft_.shape(op.outputs[0]);
    TensorId id =
        emit(op, product.kind, std::move(inputs), {DType::kInt32, shape}, product.attributes);
    Attributes to;
    to.set("to", std::string("f32"));
    id = emit(op, OpKind::kCast, {id}, {DType::kFloat32, shape}, std::move(to));
    std::vector<double> factors = weights.scales;
    for (double& factor : factors) factor *= x.scale;
    MODELD_ASSIGN(const TensorId factor, channel_constant(op, product, factors, ".scale"));
    id = emit(op, OpKind::kMul, {id, factor}, {DType::kFloat32, shape});
    if (!bias.empty()) {
      MODELD_ASSIGN(const TensorId addend, channel_constant(op, product, bias, ".bias"));
      emit(op, OpKind::kAdd, {id, addend}, {DType::kFloat32, shape});
    }
    ops_.back().outputs = op.outputs;
    return {};
  }

  Draft& draft_;
  Links links_;
  std::vector<Op> ops_;
  Changes changes_;
};

// --- Moves ---

// Gives every element one of those it got.
bool is_move(const Op& op) {
  switch (op.kind) {
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
      return true;
    default:
      return false;
  }
}

class MoveFolder {
 public:
  explicit MoveFolder(Draft& draft) : draft_(draft), links_(draft) {}

  Result<Changes> run() {
    // In order: what one op leaves behind it, the next one finds in front of it.
    for (size_t i = 0; i < draft_.ops.size(); ++i) {
      if (links_.removed(i)) continue;
      const Op op = links_.op(i);
      if (op.kind == OpKind::kQuantizeLinear) {
        drop_pair(i, op);
      } else if (is_move(op)) {
        sink(i, op);
      }
    }
    links_.finish();
    return changes_;
  }

 private:
  // Quantising what was dequantised by the same numbers gives it back.
  void drop_pair(size_t at, const Op& op) {
    const auto before = dequantised(links_, draft_, op.inputs[0]);
    const auto own = parameters_of(draft_, op);
    if (!before || !own || draft_.type(before->value) != draft_.type(op.outputs[0])) return;
    if (before->scale != own->scale || before->zero != own->zero || !(own->scale > 0)) return;
    if (links_.bypass(at, before->value, op.outputs[0])) {
      changes_.push_back("pair ends at '" + printable(op.name) + "'");
    }
  }

  // DequantizeLinear, move -> move, DequantizeLinear: the two ops change places.
  void sink(size_t at, const Op& op) {
    const auto before = dequantised(links_, draft_, op.inputs[0]);
    if (!before || !links_.has_single_use(op.inputs[0])) return;
    const size_t writer = *links_.producer(op.inputs[0]);
    const Op dequantise = links_.op(writer);
    if (dequantise.phase != op.phase || draft_.type(before->scale_id).shape.size() > 0) return;
    if (before->zero_id != kNoTensor && !draft_.shape(before->zero_id).empty()) return;
    const TensorId between = op.inputs[0];
    draft_.tensors[between].type = {draft_.dtype(before->value), draft_.shape(op.outputs[0])};
    Op first = op;
    first.inputs = {before->value};
    Op second = dequantise;
    second.inputs[0] = between;
    links_.replace_op(at, std::move(second));
    links_.replace_op(writer, std::move(first));
    changes_.push_back(std::string(to_string(op.kind)) + " '" + printable(op.name) +
                       "' of integers");
  }

  Draft& draft_;
  Links links_;
  Changes changes_;
};

// Parts of a Concat that is quantised at once, each quantised for itself.
class ConcatFolder {
 public:
  explicit ConcatFolder(Draft& draft) : draft_(draft), links_(draft) {}

  Result<Changes> run() {
    std::vector<Op> before = draft_.ops;
    std::vector<bool> done(before.size(), false);
    for (size_t i = 0; i < before.size(); ++i) {
      const auto quantise = only_quantise(before[i]);
      if (!quantise || before[*quantise].phase != before[i].phase) {
        if (!done[i]) ops_.push_back(before[i]);
        continue;
      }
      replace(before[i], before[*quantise]);
      done[*quantise] = true;
    }
    draft_.ops = std::move(ops_);
    return changes_;
  }

 private:
  // The one op that reads the Concat, if it quantises what were all integers by one scale.
  std::optional<size_t> only_quantise(const Op& op) const {
    if (op.kind != OpKind::kConcat || !links_.has_single_use(op.outputs[0])) return std::nullopt;
    const size_t at = links_.readers(op.outputs[0])[0];
    const Op& next = links_.op(at);
    if (next.kind != OpKind::kQuantizeLinear || next.inputs[0] != op.outputs[0]) {
      return std::nullopt;
    }
    const auto own = parameters_of(draft_, next);
    if (!own || draft_.shape(own->scale_id).size() > 0) return std::nullopt;
    if (own->zero_id != kNoTensor && draft_.shape(own->zero_id).size() > 0) return std::nullopt;
    for (const TensorId id : op.inputs) {
      if (!dequantised(links_, draft_, id)) return std::nullopt;
    }
    return at;
  }

  void replace(const Op& concat, const Op& quantise) {
    const auto own = parameters_of(draft_, quantise);
    const DType dtype = draft_.dtype(quantise.outputs[0]);
    Op joined = concat;
    for (TensorId& id : joined.inputs) {
      const auto part = dequantised(links_, draft_, id);
      if (part->scale == own->scale && part->zero == own->zero && own->scale > 0 &&
          draft_.dtype(part->value) == dtype) {
        id = part->value;
        continue;
      }
      Op alone = quantise;
      alone.inputs[0] = id;
      alone.outputs = {draft_.add_tensor({dtype, draft_.shape(id)}, concat.name)};
      id = alone.outputs[0];
      ops_.push_back(std::move(alone));
    }
    joined.outputs = quantise.outputs;
    changes_.push_back("Concat '" + printable(concat.name) + "' of integers");
    ops_.push_back(std::move(joined));
  }

  Draft& draft_;
  Links links_;
  std::vector<Op> ops_;
  Changes changes_;
};

}  // namespace

Result<Changes> fold_quantised_products(Draft& draft) {
  return ProductFolder(draft).run();
}

Result<Changes> sink_dequantise(Draft& draft) {
  MODELD_ASSIGN(Changes changes, MoveFolder(draft).run());
  MODELD_ASSIGN(const Changes more, ConcatFolder(draft).run());
  changes.insert(changes.end(), more.begin(), more.end());
  return changes;
}

}  // namespace modeld::compile
