#include "tools/compile/passes/channel_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace modeld::compile {
namespace {

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
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
    } else if (kind_ == OpKind::kMatMul || (kind_ == OpKind::kGemm && !trans_b_)) {
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

// True if every channel kept its precision: no overflow, and no channel so small that its weights
// are subnormal halves. What is lost below the normal floats is nothing to any sum.
bool kept_precision(const std::vector<double>& exact, const HostTensor& rounded,
                    const ChannelOfWeight& channel_of, size_t channels) {
  const std::vector<double> values = to_doubles(rounded);
  std::vector<double> largest(channels, 0);
  std::vector<double> error(channels, 0);
  for (size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(values[i])) return false;
    const size_t channel = channel_of(i);
    largest[channel] = std::max(largest[channel], std::abs(exact[i]));
    error[channel] = std::max(error[channel], std::abs(values[i] - exact[i]));
  }
  // Half a unit in the last place of f16 is 2^-11 of the value, of bf16 2^-8 or less.
  const double unit = rounded.type.dtype == DType::kBFloat16 ? 0x1p-8 : 0x1p-11;
  for (size_t c = 0; c < channels; ++c) {
    const bool matters = error[c] > static_cast<double>(std::numeric_limits<float>::min());
    if (matters && error[c] > unit * largest[c]) return false;
  }
  return true;
}

struct Terms {
  HostTensor weights;
  HostTensor bias;
};

std::optional<Terms> scaled_terms(const Draft& draft, const Op& op, const ChannelAffine& affine) {
  const size_t channels = affine.factor.size();
  const HostTensor* weights = draft.constant(op.inputs[1]);
  auto bias = bias_values(draft, op, channels);
  if (weights == nullptr || weights->type.shape.size() < 2 || !bias) return std::nullopt;
  const ChannelOfWeight channel_of(op, weights->type.shape);
  std::vector<double> values = to_doubles(*weights);
  for (size_t i = 0; i < values.size(); ++i) values[i] *= affine.factor[channel_of(i)];
  for (size_t c = 0; c < channels; ++c) {
    (*bias)[c] = (*bias)[c] * affine.factor[c] + affine.term[c];
  }
  Terms terms{from_doubles(weights->type, values),
              from_doubles({weights->type.dtype, {static_cast<int64_t>(channels)}}, *bias)};
  if (!kept_precision(values, terms.weights, channel_of, channels)) return std::nullopt;
  if (!all_finite(to_doubles(terms.bias))) return std::nullopt;
  return terms;
}

}  // namespace

std::optional<std::vector<double>> channel_values(const HostTensor& constant, const Shape& output,
                                                  size_t axis) {
  const Shape& shape = constant.type.shape;
  if (shape.size() > output.size()) return std::nullopt;
  const size_t lead = output.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && lead + i != axis) return std::nullopt;
  }
  std::vector<double> values = to_doubles(constant);
  if (values.size() == 1) values.assign(static_cast<size_t>(output[axis]), values[0]);
  if (values.size() != static_cast<size_t>(output[axis])) return std::nullopt;
  return values;
}

Result<std::optional<Op>> apply_affine(Draft& draft, const Op& op, const ChannelAffine& affine) {
  auto terms = scaled_terms(draft, op, affine);
  if (!terms) return std::optional<Op>();
  Op result = op;
  const bool biased =
      input_or_none(op, kBiasInput) != kNoTensor || uniform_value(terms->bias) != 0.0;
  MODELD_ASSIGN(result.inputs[1],
                draft.add_constant(std::move(terms->weights), op.name + ".weight"));
  if (biased) {
    MODELD_ASSIGN(const TensorId bias,
                  draft.add_constant(std::move(terms->bias), op.name + ".bias"));
    set_input(result, kBiasInput, bias);
  }
  if (result.kind == OpKind::kGemm) result.attributes.set("beta", 1.0);
  return std::optional<Op>(std::move(result));
}

}  // namespace modeld::compile
