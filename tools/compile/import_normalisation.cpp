// Normalisations with learnt terms, and those spelled out here.
#include <algorithm>
#include <array>
#include <numeric>

#include "tools/compile/dtype_numbers.h"
#include "tools/compile/op_families.h"

namespace modeld::compile {
namespace {

// Training shows in an attribute (opset 14 and newer) or in extra outputs (before).
Status refuse_training_batch_norm(NodeImport& node) {
  bool training = node.attr_int("training_mode", 0) != 0;
  for (size_t i = 1; i < node.output_count(); ++i) training = training || node.wants_output(i);
  if (training) return node.refused("batch normalisation in training mode");
  if (node.attr_int("spatial", 1) != 1) return node.unsupported("per-activation normalisation");
  return {};
}

Status batch_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(5, 5));
  node.ignore_attr("momentum");
  MODELD_TRY(refuse_training_batch_norm(node));
  Attributes attributes;
  attributes.set("epsilon", node.attr_float("epsilon", static_cast<double>(1e-5f)));
  MODELD_ASSIGN(const TensorId id,
                node.emit(OpKind::kBatchNormalization, node.inputs(), std::move(attributes)));
  node.set_output(0, id);
  return {};
}

// Mean and variance are always taken in float32 or wider; `stash_type` then only says what type
// they are answered in.
Result<DType> stash_type(NodeImport& node) {
  MODELD_ASSIGN(const DType dtype, dtype_of(node.attr_int("stash_type", 1)));
  if (!is_float(dtype)) return node.refused("'stash_type' is not a float type");
  return dtype;
}

Attributes normalised(int64_t axis, double epsilon) {
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("epsilon", epsilon);
  return attributes;
}

// A learnt term with the extents of the normalised axes, if it has them up to leading ones.
Result<TensorId> as_tail(NodeImport& node, TensorId term, const Shape& tail) {
  if (term == kNoTensor) return kNoTensor;
  const Shape& shape = node.draft().shape(term);
  const Shape aligned(
      shape.size() > tail.size() ? shape.end() - static_cast<int64_t>(tail.size()) : shape.begin(),
      shape.end());
  const bool same = aligned == tail && node.draft().type(term).elements() ==
                                           TensorType{DType::kFloat32, tail}.elements();
  if (!same) return kNoTensor;
  return node.reshape(term, tail);
}

// The op with its learnt terms inside where they span the normalised axes, else behind it: ONNX
// lets them broadcast.
Result<TensorId> with_terms(NodeImport& node, OpKind kind, int64_t axis, double epsilon) {
  const Shape tail(node.shape(0).begin() + axis, node.shape(0).end());
  const DType dtype = node.dtype(0);
  TensorId scale = node.input(1);
  TensorId bias = node.input(2);
  if (scale != kNoTensor) {
    MODELD_ASSIGN(scale, node.cast(scale, dtype));
  }
  if (bias != kNoTensor) {
    MODELD_ASSIGN(bias, node.cast(bias, dtype));
  }
  MODELD_ASSIGN(const TensorId inner_scale, as_tail(node, scale, tail));
  MODELD_ASSIGN(const TensorId inner_bias, as_tail(node, bias, tail));
  const bool all_inside = (scale == kNoTensor || inner_scale != kNoTensor) &&
                          (bias == kNoTensor || inner_bias != kNoTensor);
  std::vector<TensorId> inputs = {node.input(0)};
  if (all_inside && (scale != kNoTensor || bias != kNoTensor)) inputs.push_back(inner_scale);
  if (all_inside && bias != kNoTensor) inputs.push_back(inner_bias);
  MODELD_ASSIGN(TensorId id, node.emit(kind, std::move(inputs), normalised(axis, epsilon)));
  if (all_inside) return id;
  if (scale != kNoTensor) {
    MODELD_ASSIGN(id, node.emit(OpKind::kMul, {id, scale}));
  }
  if (bias != kNoTensor) {
    MODELD_ASSIGN(id, node.emit(OpKind::kAdd, {id, bias}));
  }
  if (node.draft().shape(id) != node.shape(0)) {
    return node.refused("a learnt term is larger than the data")
        .expecting("terms that broadcast to " + to_string(node.shape(0)),
                   to_string(node.draft().shape(id)));
  }
  return id;
}

// The optional outputs of LayerNormalization.
Status mean_and_inverse_deviation(NodeImport& node, int64_t axis, double epsilon, DType stash) {
  if (!node.wants_output(1) && !node.wants_output(2)) return {};
  std::vector<int64_t> axes(static_cast<size_t>(node.rank(0) - axis));
  std::iota(axes.begin(), axes.end(), axis);
  const DType wide = node.dtype(0) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  MODELD_ASSIGN(const TensorId x, node.cast(node.input(0), wide));
  MODELD_ASSIGN(const TensorId mean, node.reduce(OpKind::kReduceMean, x, axes));
  MODELD_ASSIGN(const TensorId centred, node.emit(OpKind::kSub, {x, mean}));
  MODELD_ASSIGN(const TensorId squares, node.emit(OpKind::kMul, {centred, centred}));
  MODELD_ASSIGN(const TensorId variance, node.reduce(OpKind::kReduceMean, squares, axes));
  MODELD_ASSIGN(const TensorId bound, node.scalar_like(variance, epsilon));
  MODELD_ASSIGN(const TensorId sum, node.emit(OpKind::kAdd, {variance, bound}));
  MODELD_ASSIGN(const TensorId deviation, node.emit(OpKind::kSqrt, {sum}));
  MODELD_ASSIGN(const TensorId inverse, node.emit(OpKind::kReciprocal, {deviation}));
  for (size_t i = 1; i < 3; ++i) {
    if (!node.wants_output(i)) continue;
    MODELD_ASSIGN(const TensorId id, node.cast(i == 1 ? mean : inverse, stash));
    node.set_output(i, id);
  }
  return {};
}

Status layer_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 3));
  MODELD_ASSIGN(const DType stash, stash_type(node));
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0)));
  const double epsilon = node.attr_float("epsilon", static_cast<double>(1e-5f));
  MODELD_ASSIGN(const TensorId id, with_terms(node, OpKind::kLayerNormalization, axis, epsilon));
  MODELD_TRY(mean_and_inverse_deviation(node, axis, epsilon, stash));
  node.set_output(0, id);
  return {};
}

Status rms_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_TRY(stash_type(node));
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0)));
  const double epsilon = node.attr_float("epsilon", static_cast<double>(1e-5f));
  MODELD_ASSIGN(const TensorId id, with_terms(node, OpKind::kRmsNormalization, axis, epsilon));
  node.set_output(0, id);
  return {};
}

// One value per channel of axis 1, broadcast over the rest.
Result<TensorId> per_channel(NodeImport& node, TensorId term, size_t rank) {
  Shape shape(rank, 1);
  if (rank > 1) shape[1] = node.draft().type(term).elements();
  return node.reshape(term, shape);
}

// x seen as (N, groups, rest): each group standardised over its rest, then scaled and shifted by
// channel (or by group, where the terms are that short: opset 18).
Status by_groups(NodeImport& node, int64_t groups) {
  const Shape shape = node.shape(0);
  if (node.rank(0) < 2 || groups < 1 || shape[1] % groups != 0) {
    return node.refused("channels do not divide into groups")
        .expecting("a multiple of " + std::to_string(groups), to_string(shape));
  }
  const double epsilon = node.attr_float("epsilon", static_cast<double>(1e-5f));
  int64_t rest = shape[1] / groups;
  for (size_t i = 2; i < shape.size(); ++i) rest *= shape[i];
  MODELD_ASSIGN(TensorId id, node.reshape(node.input(0), {shape[0], groups, rest}));
  MODELD_ASSIGN(id, node.emit(OpKind::kLayerNormalization, {id}, normalised(2, epsilon)));
  const bool grouped_terms = node.shape(1) == Shape{groups} && groups != shape[1];
  if (!grouped_terms) {
    MODELD_ASSIGN(id, node.reshape(id, shape));
  }
  const size_t rank = grouped_terms ? 3 : shape.size();
  for (size_t i = 1; i < 3; ++i) {
    MODELD_ASSIGN(TensorId term, node.cast(node.input(i), node.dtype(0)));
    MODELD_ASSIGN(term, per_channel(node, term, rank));
    MODELD_ASSIGN(id, node.emit(i == 1 ? OpKind::kMul : OpKind::kAdd, {id, term}));
  }
  MODELD_ASSIGN(id, node.reshape(id, shape));
  node.set_output(0, id);
  return {};
}

Status instance_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(3, 3));
  if (node.rank(0) < 3) return node.refused("no spatial axes " + to_string(node.shape(0)));
  return by_groups(node, node.shape(0)[1]);
}

Status group_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(3, 3));
  MODELD_TRY(stash_type(node));
  return by_groups(node, node.attr_int("num_groups", 0));
}

// (x - mean) / (deviation + 1e-9)
Status mean_variance_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  std::vector<int64_t> axes = node.attr_ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  MODELD_ASSIGN(axes, node.resolve_axes(std::move(axes), node.rank(0)));
  MODELD_ASSIGN(const TensorId mean, node.reduce(OpKind::kReduceMean, node.input(0), axes));
  MODELD_ASSIGN(const TensorId centred, node.emit(OpKind::kSub, {node.input(0), mean}));
  MODELD_ASSIGN(const TensorId squares, node.emit(OpKind::kMul, {centred, centred}));
  MODELD_ASSIGN(const TensorId variance, node.reduce(OpKind::kReduceMean, squares, axes));
  MODELD_ASSIGN(const TensorId deviation, node.emit(OpKind::kSqrt, {variance}));
  MODELD_ASSIGN(const TensorId bound, node.scalar_like(deviation, 1e-9));
  MODELD_ASSIGN(const TensorId divisor, node.emit(OpKind::kAdd, {deviation, bound}));
  return node.emit_output(OpKind::kDiv, {centred, divisor});
}

// Element by element of the axis over its L1 or L2 norm.
Status lp_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const int64_t p = node.attr_int("p", 2);
  if (p != 1 && p != 2) return node.refused("attribute 'p' is neither 1 nor 2");
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0)));
  MODELD_ASSIGN(const TensorId norm,
                node.reduce(p == 1 ? OpKind::kReduceL1 : OpKind::kReduceL2, node.input(0), {axis}));
  MODELD_ASSIGN(const TensorId zero, node.scalar_like(norm, 0));
  MODELD_ASSIGN(const TensorId one, node.scalar_like(norm, 1));
  MODELD_ASSIGN(const TensorId empty, node.emit(OpKind::kEqual, {norm, zero}));
  MODELD_ASSIGN(const TensorId divisor, node.emit(OpKind::kWhere, {empty, one, norm}));
  return node.emit_output(OpKind::kDiv, {node.input(0), divisor});
}

// x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
Status local_response_normalization(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const int64_t size = node.attr_int("size", 0);
  if (node.rank(0) < 2 || size < 1 || size > 1024) {
    return node.refused("attribute 'size' is out of range")
        .expecting("1..1024", std::to_string(size));
  }
  const Shape shape = node.shape(0);
  const size_t rank = shape.size();
  MODELD_ASSIGN(TensorId squares, node.emit(OpKind::kMul, {node.input(0), node.input(0)}));
  std::vector<int64_t> pads(2 * rank, 0);
  pads[1] = (size - 1) / 2;
  pads[rank + 1] = size - 1 - pads[1];
  Attributes pad;
  pad.set("pads", pads);
  pad.set("mode", std::string("constant"));
  MODELD_ASSIGN(squares, node.emit(OpKind::kPad, {squares}, std::move(pad)));
  TensorId sum = kNoTensor;
  for (int64_t i = 0; i < size; ++i) {
    Attributes slice;
    std::vector<int64_t> starts(rank, 0);
    starts[1] = i;
    slice.set("starts", starts);
    slice.set("steps", std::vector<int64_t>(rank, 1));
    slice.set("sizes", shape);
    MODELD_ASSIGN(const TensorId part, node.emit(OpKind::kSlice, {squares}, std::move(slice)));
    if (sum == kNoTensor) {
      sum = part;
    } else {
      MODELD_ASSIGN(sum, node.emit(OpKind::kAdd, {sum, part}));
    }
  }
  const double alpha = node.attr_float("alpha", static_cast<double>(1e-4f));
  MODELD_ASSIGN(const TensorId factor, node.scalar_like(sum, alpha / static_cast<double>(size)));
  MODELD_ASSIGN(const TensorId bias, node.scalar_like(sum, node.attr_float("bias", 1)));
  MODELD_ASSIGN(const TensorId beta, node.scalar_like(sum, node.attr_float("beta", 0.75)));
  MODELD_ASSIGN(sum, node.emit(OpKind::kMul, {sum, factor}));
  MODELD_ASSIGN(sum, node.emit(OpKind::kAdd, {sum, bias}));
  MODELD_ASSIGN(sum, node.emit(OpKind::kPow, {sum, beta}));
  return node.emit_output(OpKind::kDiv, {node.input(0), sum});
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"BatchNormalization", batch_normalization},
    {"GroupNormalization", group_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LRN", local_response_normalization},
    {"LayerNormalization", layer_normalization},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", rms_normalization},
});

}  // namespace

std::span<const ImporterRow> normalisation_importers() {
  return kImporters;
}

}  // namespace modeld::compile
