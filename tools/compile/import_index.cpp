// Ops that read, write or answer places by index.
#include <algorithm>
#include <array>

#include "tools/compile/import_index.h"
#include "tools/compile/op_families.h"

namespace modeld::compile {

// Run-time indices are checked on the device; constant ones can be wrong only once, here.
Status check_constant_indices(const NodeImport& node, size_t input,
                              const std::vector<int64_t>& extents) {
  const HostTensor* indices = node.constant_input(input);
  if (indices == nullptr) return {};
  const auto values = to_ints(*indices);
  if (!values) return node.refused("'indices' are not integers");
  for (size_t i = 0; i < values->size(); ++i) {
    const int64_t index = (*values)[i];
    const int64_t extent = extents[i % extents.size()];
    if (index >= -extent && index < extent) continue;
    return node.refused("a constant index is out of range")
        .expecting(std::to_string(-extent) + ".." + std::to_string(extent - 1),
                   std::to_string(index));
  }
  return {};
}

namespace {

Result<int64_t> checked_axis(NodeImport& node) {
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", 0), node.rank(0)));
  MODELD_TRY(check_constant_indices(node, 1, {node.shape(0)[static_cast<size_t>(axis)]}));
  return axis;
}

// Of the axes that index tuples name, from `first` on.
Status check_tuples(const NodeImport& node, int64_t first) {
  if (node.rank(1) < 1) return node.refused("'indices' is a scalar");
  const int64_t depth = node.shape(1).back();
  if (first < 0 || depth < 1 || depth > node.rank(0) - first) {
    return node.refused("'indices' names more axes than there are")
        .expecting("1.." + std::to_string(node.rank(0) - first), std::to_string(depth));
  }
  const auto begin = node.shape(0).begin() + first;
  return check_constant_indices(node, 1, {begin, begin + depth});
}

Status gather_elements(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  Attributes attributes;
  MODELD_ASSIGN(const int64_t axis, checked_axis(node));
  attributes.set("axis", axis);
  return node.emit_output(OpKind::kGatherElements, node.inputs(), std::move(attributes));
}

Status gather_nd(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  const int64_t batch = node.attr_int("batch_dims", 0);
  MODELD_TRY(check_tuples(node, batch));
  Attributes attributes;
  attributes.set("batch_dims", batch);
  return node.emit_output(OpKind::kGatherNd, node.inputs(), std::move(attributes));
}

// Truth values cannot be combined as numbers; ONNX allows them only without a reduction.
Status scatter_elements(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(3, 3));
  Attributes attributes;
  MODELD_ASSIGN(const int64_t axis, checked_axis(node));
  attributes.set("axis", axis);
  attributes.set("reduction", node.attr_string("reduction", "none"));
  return node.emit_output(OpKind::kScatterElements, node.inputs(), std::move(attributes));
}

Status scatter_nd(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(3, 3));
  MODELD_TRY(check_tuples(node, 0));
  Attributes attributes;
  attributes.set("reduction", node.attr_string("reduction", "none"));
  return node.emit_output(OpKind::kScatterNd, node.inputs(), std::move(attributes));
}

// `sorted` 0 allows any order, so sorted answers are right for both.
Status top_k(NodeImport& node) {
  node.ignore_attr("sorted");
  int64_t k = 0;
  if (node.opset() < 10) {
    MODELD_TRY(node.expect_inputs(1, 1));
    k = node.attr_int("k", -1);
  } else {
    MODELD_TRY(node.expect_inputs(2, 2));
    MODELD_ASSIGN(const std::vector<int64_t> values, node.constant_ints(1, "K"));
    if (values.size() != 1) return node.refused("'K' is not one value");
    k = values[0];
  }
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0)));
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("k", k);
  attributes.set("largest", node.attr_int("largest", 1));
  MODELD_ASSIGN(const std::vector<TensorId> ids,
                node.emit_many(OpKind::kTopK, {node.input(0)}, std::move(attributes)));
  for (size_t i = 0; i < ids.size(); ++i) node.set_output(i, ids[i]);
  return {};
}

// A result of run-time size becomes one of the largest size, which `max_output_boxes_per_class`
// bounds; rows behind the selected ones are -1.
Status non_max_suppression(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 5));
  if (!node.has_input(2)) {
    return node.refused(
        "without 'max_output_boxes_per_class' nothing bounds the number of results");
  }
  MODELD_ASSIGN(const std::vector<int64_t> most,
                node.constant_ints(2, "max_output_boxes_per_class"));
  if (most.size() != 1 || node.rank(1) != 3) {
    return node.refused("'max_output_boxes_per_class' is not one value or 'scores' not of rank 3");
  }
  Attributes attributes;
  attributes.set("max_output", std::clamp<int64_t>(most[0], 0, node.shape(1)[2]));
  attributes.set("center_point_box", node.attr_int("center_point_box", 0));
  std::vector<TensorId> inputs = {node.input(0), node.input(1)};
  if (node.has_input(3) || node.has_input(4)) inputs.push_back(node.input(3));
  if (node.has_input(4)) inputs.push_back(node.input(4));
  return node.emit_output(OpKind::kNonMaxSuppression, std::move(inputs), std::move(attributes));
}

Status cumulative_sum(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_ASSIGN(const std::vector<int64_t> given, node.constant_ints(1, "axis"));
  if (given.size() != 1) return node.refused("'axis' is not one value");
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(given[0], node.rank(0)));
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("exclusive", node.attr_int("exclusive", 0));
  attributes.set("reverse", node.attr_int("reverse", 0));
  return node.emit_output(OpKind::kCumSum, {node.input(0)}, std::move(attributes));
}

// The offset of each element from the diagonal, one matrix.
Result<TensorId> diagonals(NodeImport& node, int64_t rows, int64_t columns) {
  return node.numbers({rows, columns}, [columns](int64_t i) { return i % columns - i / columns; });
}

// Elements on or above (below) the k-th diagonal stay, the others become 0.
Status trilu(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 2));
  if (node.rank(0) < 2) return node.refused("not a matrix");
  const Shape& shape = node.shape(0);
  MODELD_ASSIGN(const TensorId offsets,
                diagonals(node, shape[shape.size() - 2], shape[shape.size() - 1]));
  TensorId k = node.input(1);
  if (k == kNoTensor) {
    MODELD_ASSIGN(k, node.scalar_like(offsets, 0));
  }
  if (node.draft().shape(k).size() > 1 || node.draft().type(k).elements() != 1) {
    return node.refused("'k' is not one value");
  }
  MODELD_ASSIGN(k, node.reshape(k, {}));
  const bool upper = node.attr_int("upper", 1) != 0;
  MODELD_ASSIGN(const TensorId stays,
                node.emit(upper ? OpKind::kGreaterOrEqual : OpKind::kLessOrEqual, {offsets, k}));
  MODELD_ASSIGN(const TensorId zero, node.scalar_like(node.input(0), 0));
  return node.emit_output(OpKind::kWhere, {stays, node.input(0), zero});
}

Result<TensorId> one_of_two(NodeImport& node, TensorId pair, int64_t at) {
  Attributes attributes;
  attributes.set("starts", std::vector<int64_t>{at});
  attributes.set("steps", std::vector<int64_t>{1});
  attributes.set("sizes", std::vector<int64_t>{1});
  MODELD_ASSIGN(const TensorId id, node.emit(OpKind::kSlice, {pair}, std::move(attributes)));
  return node.reshape(id, {});
}

// An index that names no class (outside -depth .. depth - 1) marks none.
Status one_hot(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(3, 3));
  MODELD_ASSIGN(const double wanted, node.constant_scalar(1, "depth"));
  if (!(wanted >= 1 && wanted <= 1 << 26)) return node.refused("'depth' is out of range");
  if (node.shape(2) != Shape{2}) return node.refused("'values' is not a pair");
  const auto depth = static_cast<int64_t>(wanted);
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0) + 1));
  Shape shape = node.shape(0);
  shape.insert(shape.begin() + axis, 1);
  Shape classes_shape(shape.size(), 1);
  classes_shape[static_cast<size_t>(axis)] = depth;
  MODELD_ASSIGN(const TensorId class_id, node.numbers(classes_shape, [](int64_t i) { return i; }));
  MODELD_ASSIGN(TensorId index, node.cast(node.input(0), DType::kInt64));
  MODELD_ASSIGN(index, node.reshape(index, shape));
  MODELD_ASSIGN(const TensorId zero, node.scalar_like(index, 0));
  MODELD_ASSIGN(const TensorId count, node.scalar_like(index, static_cast<double>(depth)));
  MODELD_ASSIGN(const TensorId negative, node.emit(OpKind::kLess, {index, zero}));
  MODELD_ASSIGN(const TensorId wrapped, node.emit(OpKind::kAdd, {index, count}));
  MODELD_ASSIGN(index, node.emit(OpKind::kWhere, {negative, wrapped, index}));
  MODELD_ASSIGN(const TensorId marked, node.emit(OpKind::kEqual, {index, class_id}));
  MODELD_ASSIGN(const TensorId off, one_of_two(node, node.input(2), 0));
  MODELD_ASSIGN(const TensorId on, one_of_two(node, node.input(2), 1));
  return node.emit_output(OpKind::kWhere, {marked, on, off});
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"CumSum", cumulative_sum},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"NonMaxSuppression", non_max_suppression},
    {"OneHot", one_hot},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"TopK", top_k},
    {"Trilu", trilu},
});

}  // namespace

std::span<const ImporterRow> index_importers() {
  return kImporters;
}

}  // namespace modeld::compile
