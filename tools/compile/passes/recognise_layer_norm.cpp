#include "tools/compile/passes/recognise_layer_norm.h"

#include <numeric>
#include <optional>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

struct Normalised {
  TensorId input = kNoTensor;
  int64_t axis = 0;
  double epsilon = 0;
};

class Matcher {
 public:
  Matcher(const Links& links, const Draft& draft) : links_(links), draft_(draft) {}

  // What the Div or Mul at `at` normalises, if it is the end of the pattern.
  std::optional<Normalised> match(size_t at) const;

 private:
  const Op* producer(TensorId tensor, OpKind kind) const {
    const auto at = links_.producer(tensor, kind);
    return at ? &links_.op(*at) : nullptr;
  }
  std::optional<double> scalar(TensorId tensor) const;
  // The input of a mean over the axes from `axis` to the last, kept as 1.
  std::optional<TensorId> mean_of(TensorId tensor, int64_t& axis) const;
  // x if `tensor` is x - mean(x).
  std::optional<TensorId> centred(TensorId tensor, int64_t& axis) const;
  // t if `op` is anything times 1 / sqrt(t), however that is written; `numerator` is the thing.
  std::optional<TensorId> under_root(const Op& op, TensorId& numerator) const;
  // t if `tensor` is 1 / sqrt(t).
  std::optional<TensorId> inverse_root(TensorId tensor) const;
  // t if `tensor` is t * t or t ^ 2.
  std::optional<TensorId> square_of(TensorId tensor) const;

  const Links& links_;
  const Draft& draft_;
};

std::optional<double> Matcher::scalar(TensorId tensor) const {
  const HostTensor* constant = draft_.constant(tensor);
  if (constant == nullptr || constant->type.elements() != 1) return std::nullopt;
  return to_doubles(*constant)[0];
}

std::optional<TensorId> Matcher::mean_of(TensorId tensor, int64_t& axis) const {
  const Op* mean = producer(tensor, OpKind::kReduceMean);
  if (mean == nullptr || mean->attributes.get_int("keepdims") != 1) return std::nullopt;
  const std::vector<int64_t> axes = mean->attributes.get_ints("axes");
  const auto rank = static_cast<int64_t>(draft_.shape(mean->inputs[0]).size());
  std::vector<int64_t> last(axes.size());
  std::iota(last.begin(), last.end(), rank - static_cast<int64_t>(axes.size()));
  if (axes.empty() || axes != last) return std::nullopt;
  axis = axes[0];
  return mean->inputs[0];
}

std::optional<TensorId> Matcher::centred(TensorId tensor, int64_t& axis) const {
  const Op* difference = producer(tensor, OpKind::kSub);
  if (difference == nullptr) return std::nullopt;
  const auto of = mean_of(difference->inputs[1], axis);
  if (!of || *of != difference->inputs[0]) return std::nullopt;
  return of;
}

std::optional<TensorId> Matcher::square_of(TensorId tensor) const {
  if (const Op* power = producer(tensor, OpKind::kPow)) {
    if (scalar(power->inputs[1]) == 2.0) return power->inputs[0];
  }
  if (const Op* product = producer(tensor, OpKind::kMul)) {
    if (product->inputs[0] == product->inputs[1]) return product->inputs[0];
  }
  return std::nullopt;
}

std::optional<TensorId> Matcher::inverse_root(TensorId tensor) const {
  TensorId root = kNoTensor;
  if (const Op* inverse = producer(tensor, OpKind::kReciprocal)) root = inverse->inputs[0];
  if (const Op* quotient = producer(tensor, OpKind::kDiv)) {
    if (scalar(quotient->inputs[0]) == 1.0) root = quotient->inputs[1];
  }
  if (root != kNoTensor) {
    const Op* sqrt = producer(root, OpKind::kSqrt);
    return sqrt == nullptr ? std::nullopt : std::optional(sqrt->inputs[0]);
  }
  const Op* power = producer(tensor, OpKind::kPow);
  if (power == nullptr || scalar(power->inputs[1]) != -0.5) return std::nullopt;
  return power->inputs[0];
}

std::optional<TensorId> Matcher::under_root(const Op& op, TensorId& numerator) const {
  if (op.kind == OpKind::kDiv) {
    numerator = op.inputs[0];
    const Op* root = producer(op.inputs[1], OpKind::kSqrt);
    return root == nullptr ? std::nullopt : std::optional(root->inputs[0]);
  }
  for (const size_t side : {0u, 1u}) {
    numerator = op.inputs[1 - side];
    if (const auto below = inverse_root(op.inputs[side])) return below;
  }
  return std::nullopt;
}

std::optional<Normalised> Matcher::match(size_t at) const {
  TensorId numerator = kNoTensor;
  const auto below = under_root(links_.op(at), numerator);
  Normalised found;
  const auto input = below ? centred(numerator, found.axis) : std::nullopt;
  const Op* sum = below ? producer(*below, OpKind::kAdd) : nullptr;
  if (!input || sum == nullptr) return std::nullopt;
  const size_t side = scalar(sum->inputs[0]) ? 0 : 1;
  const auto epsilon = scalar(sum->inputs[side]);
  int64_t variance_axis = -1;
  const auto squares = mean_of(sum->inputs[1 - side], variance_axis);
  const auto difference = squares ? square_of(*squares) : std::nullopt;
  int64_t centre_axis = -1;
  const auto same = difference ? centred(*difference, centre_axis) : std::nullopt;
  if (!epsilon || *epsilon < 0 || same != input) return std::nullopt;
  if (variance_axis != found.axis || centre_axis != found.axis) return std::nullopt;
  found.input = *input;
  found.epsilon = *epsilon;
  return found;
}

// `constant` with the shape `tail`, if that is what it is apart from leading ones.
std::optional<HostTensor> shaped_like(const HostTensor& constant, const Shape& tail) {
  const Shape& shape = constant.type.shape;
  if (shape.size() < tail.size()) return std::nullopt;
  const auto split = shape.end() - static_cast<std::ptrdiff_t>(tail.size());
  if (Shape(split, shape.end()) != tail) return std::nullopt;
  if (constant.type.elements() != TensorType{constant.type.dtype, tail}.elements()) {
    return std::nullopt;
  }
  return HostTensor{{constant.type.dtype, tail}, constant.bytes};
}

// The op of `kind` that alone reads `tensor` and combines it with a constant of shape `tail`.
struct Follower {
  size_t at;
  HostTensor constant;
};

std::optional<Follower> follower(const Links& links, const Draft& draft, TensorId tensor,
                                 OpKind kind, const Shape& tail) {
  if (!links.has_single_use(tensor)) return std::nullopt;
  const size_t at = links.readers(tensor)[0];
  const Op& op = links.op(at);
  if (op.kind != kind || draft.type(op.outputs[0]) != draft.type(tensor)) return std::nullopt;
  const HostTensor* constant = draft.constant(op.inputs[op.inputs[0] == tensor ? 1 : 0]);
  if (constant == nullptr) return std::nullopt;
  auto shaped = shaped_like(*constant, tail);
  if (!shaped) return std::nullopt;
  return Follower{at, std::move(*shaped)};
}

HostTensor ones(DType dtype, const Shape& shape) {
  const TensorType type{dtype, shape};
  return from_doubles(type, std::vector<double>(static_cast<size_t>(type.elements()), 1));
}

// Replaces the op at `at`, and a Mul and an Add behind it, by one op in the last one's place.
Status replace(Draft& draft, Links& links, size_t at, const Normalised& found, Changes& changes) {
  const Shape& shape = draft.shape(found.input);
  const Shape tail(shape.begin() + found.axis, shape.end());
  size_t last = at;
  HostTensor scale = ones(draft.dtype(found.input), tail);
  if (auto mul = follower(links, draft, links.op(last).outputs[0], OpKind::kMul, tail)) {
    last = mul->at;
    scale = std::move(mul->constant);
  }
  auto add = follower(links, draft, links.op(last).outputs[0], OpKind::kAdd, tail);
  if (add) last = add->at;
  Op norm;
  norm.kind = OpKind::kLayerNormalization;
  norm.name = links.op(last).name;
  norm.phase = links.op(last).phase;
  norm.attributes.set("axis", found.axis);
  norm.attributes.set("epsilon", found.epsilon);
  MODELD_ASSIGN(const TensorId scale_id,
                draft.add_constant(std::move(scale), norm.name + ".scale"));
  norm.inputs = {found.input, scale_id};
  if (add) {
    MODELD_ASSIGN(const TensorId bias_id,
                  draft.add_constant(std::move(add->constant), norm.name + ".bias"));
    norm.inputs.push_back(bias_id);
  }
  changes.push_back("ends at '" + printable(norm.name) + "'");
  links.replace_op(last, std::move(norm));
  return {};
}

}  // namespace

Result<Changes> recognise_layer_norm(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.kind != OpKind::kDiv && op.kind != OpKind::kMul) continue;
    if (!is_float(draft.dtype(op.outputs[0]))) continue;
    const auto found = Matcher(links, draft).match(i);
    if (found) MODELD_TRY(replace(draft, links, i, *found, changes));
  }
  // What the op replaces is dead code now, unless somebody else reads it.
  links.finish();
  return changes;
}

}  // namespace modeld::compile
