// Softmax, LogSoftmax, LayerNormalization, RMSNormalization and BatchNormalization of float32.
#include <cmath>

#include "runtime/cpu/lowering.h"
#include "runtime/cpu/row_reduce.h"
#include "runtime/cpu/row_softmax.h"

namespace modeld::cpu {
namespace {

constexpr int64_t kWorthSharing = 8 * 1024;  // elements; these cost more than an addition each

// A tensor seen as outer x axis x inner in storage order.
struct Split3 {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
};

Split3 split_at(const Shape& shape, Layout layout, size_t axis) {
  Split3 split;
  bool behind = false;
  for (const size_t at : storage_order(shape.size(), layout)) {
    if (at == axis) {
      split.axis = shape[at];
      behind = true;
    } else {
      (behind ? split.inner : split.outer) *= shape[at];
    }
  }
  return split;
}

MODELD_ALWAYS_INLINE inline void log_softmax_row(const float* in, float* out, int64_t count) {
  const float most = reduce_row(in, count, -math::kInfinity, Same{}, Larger{});
  const auto power = [most](float x) MODELD_ALWAYS_INLINE { return math::exp(x - most); };
  const float rest = std::log(reduce_row(in, count, 0.0f, power, Sum{}));
  for (int64_t i = 0; i < count; ++i) out[i] = in[i] - most - rest;
}

// `count` neighbouring columns at once, `stride` elements between the rows of the axis.
constexpr int64_t kColumns = 64;
MODELD_ALWAYS_INLINE inline void softmax_columns(const float* in, float* out, int64_t axis,
                                                 int64_t stride, int64_t count, bool logarithm) {
  float most[kColumns];
  float sum[kColumns];
  for (int64_t i = 0; i < count; ++i) most[i] = -math::kInfinity;
  for (int64_t row = 0; row < axis; ++row) {
    for (int64_t i = 0; i < count; ++i) most[i] = Larger{}(most[i], in[row * stride + i]);
  }
  for (int64_t i = 0; i < count; ++i) sum[i] = 0;
  for (int64_t row = 0; row < axis; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      const float difference = in[row * stride + i] - most[i];
      const float value = math::exp(difference);
      out[row * stride + i] = math::choose(logarithm, difference, value);
      sum[i] += value;
    }
  }
  if (logarithm) {
    for (int64_t i = 0; i < count; ++i) sum[i] = math::log(sum[i]);
    for (int64_t row = 0; row < axis; ++row) {
      for (int64_t i = 0; i < count; ++i) out[row * stride + i] -= sum[i];
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) sum[i] = 1.0f / sum[i];
  for (int64_t row = 0; row < axis; ++row) {
    for (int64_t i = 0; i < count; ++i) out[row * stride + i] *= sum[i];
  }
}

void softmax(const Split3& split, bool logarithm, const float* in, float* out,
             const RunContext& context) {
  if (split.inner == 1) {
    const Share rows = share_of(split.outer, context.part, context.parts);
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        const float* from = in + row * split.axis;
        float* to = out + row * split.axis;
        logarithm ? log_softmax_row(from, to, split.axis) : softmax_row(from, to, split.axis);
      }
    });
    return;
  }
  const int64_t chunks = (split.inner + kColumns - 1) / kColumns;
  const Share share = share_of(split.outer * chunks, context.part, context.parts);
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (int64_t i = share.begin; i < share.end; ++i) {
      const int64_t column = i % chunks * kColumns;
      const int64_t at = i / chunks * split.axis * split.inner + column;
      const int64_t rest = split.inner - column;
      softmax_columns(in + at, out + at, split.axis, split.inner, rest < kColumns ? rest : kColumns,
                      logarithm);
    }
  });
}

bool lower_softmax(Lowering& lowering, const Op& op) {
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[0];
  const Layout layout = lowering.layout(in);
  const Split3 split =
      split_at(lowering.shape(in), layout, static_cast<size_t>(op.attributes.get_int("axis")));
  const ValueId from = lowering.value(in, layout);
  const ValueId to = lowering.define(out, layout);
  Lowering::StepOptions options;
  options.parallel = lowering.type(in).elements() >= kWorthSharing;
  options.in_place = {from};
  const bool logarithm = op.kind == OpKind::kLogSoftmax;
  lowering.add(step_of([=](const RunContext& context) {
                 softmax(split, logarithm, context.at<float>(from), context.at<float>(to), context);
               }),
               logarithm ? "own: log softmax" : "own: softmax", {from}, {to}, std::move(options));
  return true;
}

// Scale and bias of one element; absent terms are null.
MODELD_ALWAYS_INLINE inline void apply_terms(const float* in, float* out, int64_t count, float mean,
                                             float factor, const float* scale, const float* bias) {
  if (scale == nullptr) {
    for (int64_t i = 0; i < count; ++i) out[i] = (in[i] - mean) * factor;
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = (in[i] - mean) * factor * scale[i];
  }
  if (bias == nullptr) return;
  for (int64_t i = 0; i < count; ++i) out[i] += bias[i];
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias, the variance from the differences; without
// `centred` the mean counts as 0.
MODELD_ALWAYS_INLINE inline void layer_norm_row(const float* in, float* out, int64_t count,
                                                bool centred, const float* scale, const float* bias,
                                                float epsilon) {
  const auto size = static_cast<float>(count);
  const float mean = centred ? reduce_row(in, count, 0.0f, Same{}, Sum{}) / size : 0.0f;
  const auto squared = [mean](float x) MODELD_ALWAYS_INLINE { return (x - mean) * (x - mean); };
  const float variance = reduce_row(in, count, 0.0f, squared, Sum{}) / size;
  apply_terms(in, out, count, mean, 1.0f / std::sqrt(variance + epsilon), scale, bias);
}

bool lower_layer_norm(Lowering& lowering, const Op& op) {
  const TensorId in = op.inputs[0];
  const Shape& shape = lowering.shape(in);
  int64_t rows = 1;
  int64_t count = 1;
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  for (size_t i = 0; i < shape.size(); ++i) (i < axis ? rows : count) *= shape[i];
  const auto epsilon = static_cast<float>(op.attributes.get_float("epsilon"));
  const bool centred = op.kind == OpKind::kLayerNormalization;
  const ValueId from = lowering.value(in, Layout::kPlain);
  std::vector<ValueId> reads = {from};
  const auto term = [&](size_t input) {
    if (op.inputs.size() <= input || op.inputs[input] == kNoTensor) return kNoValue;
    reads.push_back(lowering.value(op.inputs[input], Layout::kPlain));
    return reads.back();
  };
  const ValueId scale = term(1);
  const ValueId bias = term(2);
  const ValueId to = lowering.define(op.outputs[0], Layout::kPlain);
  Lowering::StepOptions options;
  options.parallel = rows * count >= kWorthSharing;
  options.in_place = {from};
  lowering.add(step_of([=](const RunContext& context) {
                 const Share share = share_of(rows, context.part, context.parts);
                 const float* source = context.at<float>(from);
                 float* target = context.at<float>(to);
                 const float* scales = scale == kNoValue ? nullptr : context.at<float>(scale);
                 const float* biases = bias == kNoValue ? nullptr : context.at<float>(bias);
                 vectorised([&]() MODELD_ALWAYS_INLINE {
                   for (int64_t row = share.begin; row < share.end; ++row) {
                     layer_norm_row(source + row * count, target + row * count, count, centred,
                                    scales, biases, epsilon);
                   }
                 });
               }),
               centred ? "own: layer norm" : "own: rms norm", std::move(reads), {to},
               std::move(options));
  return true;
}

void batch_norm(const Split3& split, const float* factors, const float* addends, const float* in,
                float* out, const RunContext& context) {
  if (split.inner == 1) {  // channels last
    const Share rows = share_of(split.outer, context.part, context.parts);
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        const float* from = in + row * split.axis;
        float* to = out + row * split.axis;
        for (int64_t c = 0; c < split.axis; ++c) to[c] = from[c] * factors[c] + addends[c];
      }
    });
    return;
  }
  const Share rows = share_of(split.outer * split.axis, context.part, context.parts);
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const float factor = factors[row % split.axis];
      const float addend = addends[row % split.axis];
      for (int64_t i = row * split.inner; i < (row + 1) * split.inner; ++i) {
        out[i] = in[i] * factor + addend;
      }
    }
  });
}

// Statistics are constants of the artifact; what the importer did not fold becomes one factor and
// one addend per channel here.
bool lower_batch_norm(Lowering& lowering, const Op& op) {
  for (size_t i = 1; i < 5; ++i) {
    if (!lowering.is_constant(op.inputs[i])) return false;
    if (lowering.stored(op.inputs[i]) != DType::kFloat32) return false;
  }
  const TensorId in = op.inputs[0];
  const Layout layout = lowering.layout(in);
  const Split3 split = split_at(lowering.shape(in), layout, 1);
  const double epsilon = op.attributes.get_float("epsilon");
  std::vector<float> factors(static_cast<size_t>(split.axis));
  std::vector<float> addends(static_cast<size_t>(split.axis));
  for (size_t c = 0; c < factors.size(); ++c) {
    const auto at = [&](size_t input) {
      return static_cast<double>(lowering.constant_floats(op.inputs[input])[c]);
    };
    const double factor = at(1) / std::sqrt(at(4) + epsilon);
    factors[c] = static_cast<float>(factor);
    addends[c] = static_cast<float>(at(2) - at(3) * factor);
  }
  const ValueId from = lowering.value(in, layout);
  const ValueId to = lowering.define(op.outputs[0], layout);
  Lowering::StepOptions options;
  options.parallel = lowering.type(in).elements() >= kWorthSharing;
  options.in_place = {from};
  lowering.add(step_of([=](const RunContext& context) {
                 batch_norm(split, factors.data(), addends.data(), context.at<float>(from),
                            context.at<float>(to), context);
               }),
               "own: batch norm", {from}, {to}, std::move(options));
  return true;
}

}  // namespace

Result<bool> lower_normalisation(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind < OpKind::kBatchNormalization || op.kind > OpKind::kSoftmax) return false;
  if (lowering.stored(op.inputs[0]) != DType::kFloat32) return false;
  if (lowering.type(op.inputs[0]).elements() == 0) return false;
  if (op.kind == OpKind::kSoftmax || op.kind == OpKind::kLogSoftmax) {
    return lower_softmax(lowering, op);
  }
  if (op.kind != OpKind::kBatchNormalization) return lower_layer_norm(lowering, op);
  return lower_batch_norm(lowering, op);
}

}  // namespace modeld::cpu
