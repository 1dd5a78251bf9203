// Reductions, ArgMax and Softmax.
#include <array>
#include <numeric>

#include "tools/compile/op_families.h"

namespace modeld::compile {
namespace {

// Axes are an attribute before `axes_input_opset` and an optional input from then on.
Result<std::vector<int64_t>> reduction_axes(NodeImport& node, int64_t axes_input_opset) {
  MODELD_TRY(node.expect_inputs(1, node.opset() < axes_input_opset ? 1 : 2));
  std::vector<int64_t> axes = node.attr_ints("axes");
  if (node.has_input(1)) {
    MODELD_ASSIGN(axes, node.constant_ints(1, "axes"));
  }
  return node.resolve_axes(std::move(axes), node.rank(0));
}

template <OpKind kKind, int64_t kAxesInputOpset>
Status reduce(NodeImport& node) {
  MODELD_ASSIGN(std::vector<int64_t> axes, reduction_axes(node, kAxesInputOpset));
  const bool keep_all = node.attr_int("noop_with_empty_axes", 0) != 0;
  if (axes.empty() && !keep_all) {
    axes.resize(static_cast<size_t>(node.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  Attributes attributes;
  attributes.set("axes", std::move(axes));
  attributes.set("keepdims", node.attr_int("keepdims", 1));
  // Truth values are ordered like 0 and 1 (opset 20).
  const DType dtype = node.dtype(0);
  const std::string& name = node.node().name;
  TensorId id = node.input(0);
  if (dtype == DType::kBool) {
    MODELD_ASSIGN(id, node.draft().cast_to(id, DType::kUInt8, name));
  }
  MODELD_ASSIGN(id, node.emit(kKind, {id}, std::move(attributes)));
  MODELD_ASSIGN(id, node.draft().cast_to(id, dtype, name));
  node.set_output(0, id);
  return {};
}

template <OpKind kKind>
Status arg(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", 0), node.rank(0)));
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("keepdims", node.attr_int("keepdims", 1));
  attributes.set("select_last_index", node.attr_int("select_last_index", 0));
  MODELD_ASSIGN(const TensorId id, node.emit(kKind, {node.input(0)}, std::move(attributes)));
  node.set_output(0, id);
  return {};
}

Result<TensorId> softmax_over(NodeImport& node, TensorId input, int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  return node.emit(OpKind::kSoftmax, {input}, std::move(attributes));
}

// Before opset 13 the input is a matrix, split at `axis`, and a row is normalised as a whole.
Status softmax_of_matrix(NodeImport& node) {
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", 1), node.rank(0)));
  const Shape shape = node.shape(0);
  TensorId id = node.input(0);
  if (axis == node.rank(0) - 1) {
    MODELD_ASSIGN(id, softmax_over(node, id, axis));
  } else {
    const auto split = shape.begin() + axis;
    const int64_t rows = std::accumulate(shape.begin(), split, int64_t{1}, std::multiplies<>());
    const int64_t columns = std::accumulate(split, shape.end(), int64_t{1}, std::multiplies<>());
    MODELD_ASSIGN(id, node.reshape(id, {rows, columns}));
    MODELD_ASSIGN(id, softmax_over(node, id, 1));
    MODELD_ASSIGN(id, node.reshape(id, shape));
  }
  node.set_output(0, id);
  return {};
}

Status softmax(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  if (node.opset() < 13) return softmax_of_matrix(node);
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0)));
  MODELD_ASSIGN(const TensorId id, softmax_over(node, node.input(0), axis));
  node.set_output(0, id);
  return {};
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"ArgMax", arg<OpKind::kArgMax>},
    {"ArgMin", arg<OpKind::kArgMin>},
    {"ReduceL1", reduce<OpKind::kReduceL1, 18>},
    {"ReduceL2", reduce<OpKind::kReduceL2, 18>},
    {"ReduceMax", reduce<OpKind::kReduceMax, 18>},
    {"ReduceMean", reduce<OpKind::kReduceMean, 18>},
    {"ReduceMin", reduce<OpKind::kReduceMin, 18>},
    {"ReduceProd", reduce<OpKind::kReduceProd, 18>},
    {"ReduceSum", reduce<OpKind::kReduceSum, 13>},
    {"ReduceSumSquare", reduce<OpKind::kReduceSumSquare, 18>},
    {"Softmax", softmax},
});

}  // namespace

std::span<const ImporterRow> reduction_importers() {
  return kImporters;
}

}  // namespace modeld::compile
