#include "tools/compile/passes/normalisation_pattern.h"

#include <numeric>

namespace modeld::compile {

const Op* NormalisationPattern::producer(TensorId tensor, OpKind kind) const {
  const auto at = links_.producer(tensor, kind);
  return at ? &links_.op(*at) : nullptr;
}

std::optional<double> NormalisationPattern::scalar(TensorId tensor) const {
  const HostTensor* constant = draft_.constant(tensor);
  if (constant == nullptr || constant->type.elements() != 1) return std::nullopt;
  return to_doubles(*constant)[0];
}

std::optional<TensorId> NormalisationPattern::mean_of(TensorId tensor, int64_t& axis) const {
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

std::optional<TensorId> NormalisationPattern::square_of(TensorId tensor) const {
  if (const Op* power = producer(tensor, OpKind::kPow)) {
    if (scalar(power->inputs[1]) == 2.0) return power->inputs[0];
  }
  if (const Op* product = producer(tensor, OpKind::kMul)) {
    if (product->inputs[0] == product->inputs[1]) return product->inputs[0];
  }
  return std::nullopt;
}

std::optional<TensorId> NormalisationPattern::inverse_root(TensorId tensor) const {
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

std::optional<TensorId> NormalisationPattern::under_root(const Op& op, TensorId& numerator) const {
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

std::optional<TensorId> NormalisationPattern::without_epsilon(TensorId tensor,
                                                              double& epsilon) const {
  const Op* sum = producer(tensor, OpKind::kAdd);
  if (sum == nullptr) return std::nullopt;
  const size_t side = scalar(sum->inputs[0]) ? 0 : 1;
  const auto value = scalar(sum->inputs[side]);
  if (!value || !(*value >= 0)) return std::nullopt;
  epsilon = *value;
  return sum->inputs[1 - side];
}

namespace {

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

}  // namespace

std::optional<ConstantFollower> constant_follower(const Links& links, const Draft& draft,
                                                  TensorId tensor, OpKind kind, const Shape& tail) {
  if (!links.has_single_use(tensor)) return std::nullopt;
  const size_t at = links.readers(tensor)[0];
  const Op& op = links.op(at);
  if (op.kind != kind || draft.type(op.outputs[0]) != draft.type(tensor)) return std::nullopt;
  const HostTensor* constant = draft.constant(op.inputs[op.inputs[0] == tensor ? 1 : 0]);
  if (constant == nullptr) return std::nullopt;
  auto shaped = shaped_like(*constant, tail);
  if (!shaped) return std::nullopt;
  return ConstantFollower{at, std::move(*shaped)};
}

HostTensor ones(DType dtype, const Shape& shape) {
  const TensorType type{dtype, shape};
  return from_doubles(type, std::vector<double>(static_cast<size_t>(type.elements()), 1));
}

Result<Changes> recognise_normalisations(
    Draft& draft,
    const std::function<std::optional<Normalised>(const NormalisationPattern&, const Op&)>& match,
    const std::function<Status(Links&, size_t at, const Normalised&, Changes&)>& replace) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.kind != OpKind::kDiv && op.kind != OpKind::kMul) continue;
    if (!is_float(draft.dtype(op.outputs[0]))) continue;
    const auto found = match(NormalisationPattern(links, draft), op);
    if (found) MODELD_TRY(replace(links, i, *found, changes));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
