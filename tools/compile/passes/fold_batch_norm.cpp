#include "tools/compile/passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

// y = x * factor + term, per channel.
struct Affine {
  std::vector<double> factor;
  std::vector<double> term;
};

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::optional<Affine> affine_of(const Draft& draft, const Op& norm) {
  for (size_t i = 1; i < 5; ++i) {
    if (draft.constant(norm.inputs[i]) == nullptr) return std::nullopt;
  }
  const auto values = [&](size_t input) { return to_doubles(*draft.constant(norm.inputs[input])); };
  const std::vector<double> scale = values(1);
  const std::vector<double> shift = values(2);
  const std::vector<double> mean = values(3);
  const std::vector<double> variance = values(4);
  const double epsilon = norm.attributes.get_float("epsilon");
  Affine affine;
  for (size_t c = 0; c < scale.size(); ++c) {
    affine.factor.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    affine.term.push_back(shift[c] - mean[c] * affine.factor[c]);
  }
  if (!all_finite(affine.factor) || !all_finite(affine.term)) return std::nullopt;
  return affine;
}

// Output channel of the weight at flat position `index`.
class ChannelOfWeight {
 public:
  ChannelOfWeight(const Op& op, const Shape& weights)
      : kind_(op.kind), trans_b_(op.attributes.get_int("trans_b") != 0) {
    for (size_t axis = 2; axis < weights.size(); ++axis) inner_ *= weights[axis];
    first_ = weights[0];
    second_ = weights[1];
    group_ = op.attributes.get_int("group", 1);
  }

  size_t operator()(size_t index) const {
    const int64_t at = static_cast<int64_t>(index) / inner_;
    const int64_t row = at / second_;
    const int64_t column = at % second_;
    int64_t channel = row;  // Conv and transposed Gemm: (channels out, channels in ...)
    if (kind_ == OpKind::kConvTranspose) {
      channel = row / (first_ / group_) * second_ + column;
    } else if (kind_ == OpKind::kGemm && !trans_b_) {
      channel = column;
    }
    return static_cast<size_t>(channel);
  }

 private:
  OpKind kind_;
  bool trans_b_;
  int64_t inner_ = 1;
  int64_t first_ = 1;
  int64_t second_ = 1;
  int64_t group_ = 1;
};

// The bias as one value per channel; nothing where it cannot be one.
std::optional<std::vector<double>> bias_values(const Draft& draft, const Op& op, size_t channels) {
  const TensorId bias = input_or_none(op, kBiasInput);
  if (bias == kNoTensor) return std::vector<double>(channels, 0);
  const HostTensor* constant = draft.constant(bias);
  if (constant == nullptr || constant->type.shape.empty()) return std::nullopt;
  if (constant->type.shape.back() != constant->type.elements()) return std::nullopt;
  std::vector<double> values = to_doubles(*constant);
  if (values.size() == 1) values.assign(channels, values[0]);
  if (values.size() != channels) return std::nullopt;
  const double beta = op.kind == OpKind::kGemm ? op.attributes.get_float("beta", 1) : 1;
  for (double& value : values) value *= beta;
  return values;
}

// Rounded to `dtype`; nothing where that overflows.
std::optional<HostTensor> rounded(DType dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor = from_doubles({dtype, std::move(shape)}, values);
  if (!all_finite(to_doubles(tensor))) return std::nullopt;
  return tensor;
}

struct Folded {
  HostTensor weights;
  HostTensor bias;
};

std::optional<Folded> folded_terms(const Draft& draft, const Op& op, const Affine& affine) {
  const HostTensor* weights = draft.constant(op.inputs[1]);
  auto bias = bias_values(draft, op, affine.factor.size());
  if (weights == nullptr || !bias) return std::nullopt;
  const ChannelOfWeight channel_of(op, weights->type.shape);
  std::vector<double> values = to_doubles(*weights);
  for (size_t i = 0; i < values.size(); ++i) values[i] *= affine.factor[channel_of(i)];
  for (size_t c = 0; c < bias->size(); ++c) {
    (*bias)[c] = (*bias)[c] * affine.factor[c] + affine.term[c];
  }
  auto new_weights = rounded(weights->type.dtype, weights->type.shape, values);
  auto new_bias = rounded(weights->type.dtype, {static_cast<int64_t>(bias->size())}, *bias);
  if (!new_weights || !new_bias) return std::nullopt;
  return Folded{std::move(*new_weights), std::move(*new_bias)};
}

Result<Op> with_terms(Draft& draft, Op op, Folded terms) {
  MODELD_ASSIGN(op.inputs[1], draft.add_constant(std::move(terms.weights), op.name + ".weight"));
  MODELD_ASSIGN(const TensorId bias, draft.add_constant(std::move(terms.bias), op.name + ".bias"));
  set_input(op, kBiasInput, bias);
  if (op.kind == OpKind::kGemm) op.attributes.set("beta", 1.0);
  return op;
}

}  // namespace

Result<Changes> fold_batch_norm(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& norm = links.op(i);
    if (norm.kind != OpKind::kBatchNormalization) continue;
    const auto before = open_matrix_op(links, norm.inputs[0]);
    // A MatMul has no channel axis 1 unless it is a plain matrix, and then it becomes a Gemm.
    if (!before || links.op(*before).kind == OpKind::kMatMul) continue;
    const auto affine = affine_of(draft, norm);
    if (!affine) continue;
    auto terms = folded_terms(draft, links.op(*before), *affine);
    if (!terms) continue;
    changes.push_back(fused_names(links.op(*before), norm));
    MODELD_ASSIGN(Op folded, with_terms(draft, links.op(*before), std::move(*terms)));
    fuse(links, *before, i, std::move(folded));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
