// Normalisations keep the shape; reductions drop axes or leave 1 in their place.
#include "runtime/program/infer_rules.h"

namespace modeld::infer {
namespace {

Result<Types> infer_batch_norm(const Call& call) {
  MODELD_TRY(need_float(call, 0));
  MODELD_TRY(need_rank_at_least(call, 0, 2));
  for (size_t i = 1; i < 5; ++i) {
    MODELD_TRY(need_float(call, i));
    MODELD_TRY(need_shape(call, i, {call.shape(0)[1]}));
  }
  MODELD_TRY(need_finite(call, "epsilon", 0));
  return Types{call.in(0)};
}

Result<Types> infer_layer_norm(const Call& call) {
  MODELD_TRY(need_float(call, 0));
  MODELD_TRY(need_one_dtype(call));
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  const Shape tail(call.shape(0).begin() + axis, call.shape(0).end());
  if (call.has(1)) MODELD_TRY(need_shape(call, 1, tail));
  if (call.has(2)) MODELD_TRY(need_shape(call, 2, tail));
  MODELD_TRY(need_finite(call, "epsilon", 0));
  return Types{call.in(0)};
}

Shape without_axes(const Shape& shape, const std::vector<int64_t>& axes, bool keep) {
  Shape out;
  size_t next = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool reduced = next < axes.size() && axes[next] == static_cast<int64_t>(axis);
    if (reduced) ++next;
    if (!reduced) out.push_back(shape[axis]);
    if (reduced && keep) out.push_back(1);
  }
  return out;
}

Result<std::vector<int64_t>> reduced_axes(const Call& call) {
  std::vector<int64_t> axes = call.attributes.get_ints("axes");
  int64_t previous = -1;
  for (const int64_t axis : axes) {
    if (axis <= previous || axis >= call.rank(0)) {
      return wrong(call, "attribute axes", "ascending axes below " + std::to_string(call.rank(0)),
                   std::to_string(axis) + " after " + std::to_string(previous));
    }
    previous = axis;
  }
  return axes;
}

Result<Types> infer_arg(const Call& call, bool keep) {
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  if (call.shape(0)[static_cast<size_t>(axis)] == 0) {
    return wrong(call, "input 0", "an axis with elements", to_string(call.in(0)));
  }
  MODELD_TRY(flag_of(call, "select_last_index"));
  return Types{{DType::kInt64, without_axes(call.shape(0), {axis}, keep)}};
}

Result<Types> infer_cumulative_sum(const Call& call) {
  MODELD_TRY(axis_of(call, call.rank(0)));
  MODELD_TRY(flag_of(call, "exclusive"));
  MODELD_TRY(flag_of(call, "reverse"));
  return Types{call.in(0)};
}

}  // namespace

Result<Types> infer_normalisation(const Call& call) {
  if (call.kind == OpKind::kBatchNormalization) return infer_batch_norm(call);
  if (call.kind == OpKind::kLayerNormalization || call.kind == OpKind::kRmsNormalization) {
    return infer_layer_norm(call);
  }
  MODELD_TRY(need_float(call, 0));
  MODELD_TRY(axis_of(call, call.rank(0)));
  return Types{call.in(0)};
}

Result<Types> infer_reduction(const Call& call) {
  MODELD_TRY(need_numeric(call, 0));
  if (call.kind == OpKind::kCumSum) return infer_cumulative_sum(call);
  if (call.kind == OpKind::kReduceLogSumExp) MODELD_TRY(need_float(call, 0));
  MODELD_ASSIGN(const bool keep, flag_of(call, "keepdims"));
  if (call.kind == OpKind::kArgMax || call.kind == OpKind::kArgMin) return infer_arg(call, keep);
  MODELD_ASSIGN(const std::vector<int64_t> axes, reduced_axes(call));
  return Types{{call.in(0).dtype, without_axes(call.shape(0), axes, keep)}};
}

}  // namespace modeld::infer
