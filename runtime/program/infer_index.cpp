// Ops that read or write the places their indices name, and TopK and NonMaxSuppression that answer
// places.
#include <algorithm>

#include "runtime/program/infer_rules.h"

namespace modeld::infer {
namespace {

Status need_index(const Call& call, size_t input) {
  const DType dtype = call.in(input).dtype;
  if (dtype == DType::kInt32 || dtype == DType::kInt64) return {};
  return wrong(call, "input " + std::to_string(input), "i32 or i64", to_string(call.in(input)));
}

Status need_reduction(const Call& call) {
  MODELD_TRY(need_one_of(call, "reduction", {"none", "add", "mul", "max", "min"}));
  if (call.attributes.get_string("reduction") == "none") return {};
  return need_numeric(call, 0);
}

Status need_data_dtype(const Call& call, size_t input) {
  if (call.in(input).dtype == call.in(0).dtype) return {};
  return wrong(call, "input " + std::to_string(input), "the element type of input 0",
               to_string(call.in(input)));
}

// Indices have the data's rank and, but for `axis`, extents that fit into it.
Status check_elements_indices(const Call& call, int64_t axis) {
  MODELD_TRY(need_index(call, 1));
  MODELD_TRY(need_rank(call, 1, call.rank(0)));
  for (size_t i = 0; i < call.shape(0).size(); ++i) {
    if (static_cast<int64_t>(i) == axis || call.shape(1)[i] <= call.shape(0)[i]) continue;
    return wrong(call, "input 1", "extents within those of " + to_string(call.in(0)),
                 to_string(call.in(1)));
  }
  return {};
}

Result<Types> infer_gather_elements(const Call& call) {
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  MODELD_TRY(check_elements_indices(call, axis));
  return Types{{call.in(0).dtype, call.shape(1)}};
}

Result<Types> infer_scatter_elements(const Call& call) {
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  MODELD_TRY(check_elements_indices(call, axis));
  MODELD_TRY(need_reduction(call));
  MODELD_TRY(need_data_dtype(call, 2));
  MODELD_TRY(need_shape(call, 2, call.shape(1)));
  return Types{call.in(0)};
}

// The last axis of the indices names a place on the data axes from `first` on; answers what lies
// behind those.
Result<Shape> slice_behind_index(const Call& call, int64_t first) {
  MODELD_TRY(need_index(call, 1));
  MODELD_TRY(need_rank_at_least(call, 1, 1));
  const int64_t depth = call.shape(1).back();
  if (depth < 1 || depth > call.rank(0) - first) {
    return wrong(call, "input 1",
                 "a last axis of 1.." + std::to_string(call.rank(0) - first) + " indices",
                 to_string(call.in(1)));
  }
  return Shape(call.shape(0).begin() + first + depth, call.shape(0).end());
}

Result<Types> infer_gather_nd(const Call& call) {
  MODELD_TRY(need_rank_at_least(call, 0, 1));
  MODELD_TRY(need_rank_at_least(call, 1, 1));
  MODELD_ASSIGN(const int64_t batch,
                int_of(call, "batch_dims", 0, std::min(call.rank(0), call.rank(1)) - 1));
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    if (call.shape(0)[i] == call.shape(1)[i]) continue;
    return wrong(call, "input 1", "the batch extents of " + to_string(call.in(0)),
                 to_string(call.in(1)));
  }
  MODELD_ASSIGN(const Shape slice, slice_behind_index(call, batch));
  Shape out(call.shape(1).begin(), call.shape(1).end() - 1);
  out.insert(out.end(), slice.begin(), slice.end());
  return Types{{call.in(0).dtype, std::move(out)}};
}

Result<Types> infer_scatter_nd(const Call& call) {
  MODELD_TRY(need_rank_at_least(call, 0, 1));
  MODELD_TRY(need_rank_at_least(call, 1, 1));
  MODELD_TRY(need_reduction(call));
  MODELD_ASSIGN(const Shape slice, slice_behind_index(call, 0));
  Shape updates(call.shape(1).begin(), call.shape(1).end() - 1);
  updates.insert(updates.end(), slice.begin(), slice.end());
  MODELD_TRY(need_data_dtype(call, 2));
  MODELD_TRY(need_shape(call, 2, updates));
  return Types{call.in(0)};
}

Result<Types> infer_top_k(const Call& call) {
  MODELD_TRY(need_numeric(call, 0));
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  MODELD_TRY(flag_of(call, "largest"));
  Shape out = call.shape(0);
  MODELD_ASSIGN(out[static_cast<size_t>(axis)],
                int_of(call, "k", 0, call.shape(0)[static_cast<size_t>(axis)]));
  return Types{{call.in(0).dtype, out}, {DType::kInt64, out}};
}

Result<Types> infer_non_max_suppression(const Call& call) {
  for (size_t i = 0; i < 4; ++i) {
    if (!call.has(i) || call.in(i).dtype == DType::kFloat32) continue;
    return wrong(call, "input " + std::to_string(i), "f32", to_string(call.in(i)));
  }
  MODELD_TRY(need_rank(call, 0, 3));
  MODELD_TRY(need_rank(call, 1, 3));
  const Shape& scores = call.shape(1);
  MODELD_TRY(need_shape(call, 0, {scores[0], scores[2], 4}));
  for (size_t i = 2; i < 4; ++i) {
    if (!call.has(i) || checked_elements(call.shape(i)) == 1) continue;
    return wrong(call, "input " + std::to_string(i), "one threshold", to_string(call.in(i)));
  }
  MODELD_TRY(flag_of(call, "center_point_box"));
  MODELD_ASSIGN(const int64_t most, int_of(call, "max_output", 0, kMaxExtent));
  const auto rows = checked_elements({scores[0], scores[1], std::min(most, scores[2])});
  if (!rows || *rows > kMaxExtent) {
    return wrong(call, "attribute max_output", "a smaller result", std::to_string(most));
  }
  return Types{{DType::kInt64, {*rows, 3}}};
}

}  // namespace

Result<Types> infer_index(const Call& call) {
  switch (call.kind) {
    case OpKind::kGatherElements:
      return infer_gather_elements(call);
    case OpKind::kGatherNd:
      return infer_gather_nd(call);
    case OpKind::kNonMaxSuppression:
      return infer_non_max_suppression(call);
    case OpKind::kScatterElements:
      return infer_scatter_elements(call);
    case OpKind::kScatterNd:
      return infer_scatter_nd(call);
    default:
      return infer_top_k(call);
  }
}

}  // namespace modeld::infer
