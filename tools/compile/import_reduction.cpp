// Reductions, ArgMax, Softmax and its kin.
#include <array>
#include <functional>
#include <numeric>
#include <optional>

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

// Attributes of a Reduce*; nothing where the op is the identity (`noop_with_empty_axes`).
Result<std::optional<Attributes>> reduction_attributes(NodeImport& node, int64_t axes_input_opset) {
  MODELD_ASSIGN(std::vector<int64_t> axes, reduction_axes(node, axes_input_opset));
  const bool keep_all = node.attr_int("noop_with_empty_axes", 0) != 0;
  Attributes attributes;
  attributes.set("keepdims", node.attr_int("keepdims", 1));
  if (axes.empty() && keep_all) return std::optional<Attributes>();
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(node.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  attributes.set("axes", std::move(axes));
  return std::optional<Attributes>(std::move(attributes));
}

template <OpKind kKind, int64_t kAxesInputOpset>
Status reduce(NodeImport& node) {
  MODELD_ASSIGN(std::optional<Attributes> attributes, reduction_attributes(node, kAxesInputOpset));
  if (!attributes) {
    // The function is still applied to each element (L2 of one element is its magnitude).
    attributes.emplace();
    attributes->set("axes", std::vector<int64_t>());
    attributes->set("keepdims", int64_t{1});
  }
  // Truth values are ordered like 0 and 1 (opset 20).
  const DType dtype = node.dtype(0);
  TensorId id = node.input(0);
  if (dtype == DType::kBool) {
    MODELD_ASSIGN(id, node.cast(id, DType::kUInt8));
  }
  // Logarithms of integers are computed as floats.
  if (kKind == OpKind::kReduceLogSumExp && !is_float(dtype)) {
    MODELD_ASSIGN(id, node.cast(id, DType::kFloat64));
  }
  MODELD_ASSIGN(id, node.emit(kKind, {id}, std::move(*attributes)));
  MODELD_ASSIGN(id, node.cast(id, dtype));
  node.set_output(0, id);
  return {};
}

Status reduce_log_sum(NodeImport& node) {
  MODELD_ASSIGN(std::optional<Attributes> attributes, reduction_attributes(node, 18));
  const DType dtype = node.dtype(0);
  TensorId id = node.input(0);
  if (attributes) {
    MODELD_ASSIGN(id, node.emit(OpKind::kReduceSum, {id}, std::move(*attributes)));
  }
  if (!is_float(dtype)) {
    MODELD_ASSIGN(id, node.cast(id, DType::kFloat64));
  }
  MODELD_ASSIGN(id, node.emit(OpKind::kLog, {id}));
  MODELD_ASSIGN(id, node.cast(id, dtype));
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

enum class Over : uint8_t { kSoftmax, kLogSoftmax, kHardmax };

// 1 at the first of the largest elements along `axis`, 0 elsewhere.
Result<TensorId> hardmax(NodeImport& node, TensorId input, int64_t axis) {
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("keepdims", int64_t{1});
  MODELD_ASSIGN(const TensorId place, node.emit(OpKind::kArgMax, {input}, std::move(attributes)));
  Shape shape(node.draft().shape(input).size(), 1);
  shape[static_cast<size_t>(axis)] = node.draft().shape(input)[static_cast<size_t>(axis)];
  MODELD_ASSIGN(const TensorId all, node.numbers(shape, [](int64_t i) { return i; }));
  MODELD_ASSIGN(const TensorId chosen, node.emit(OpKind::kEqual, {all, place}));
  return node.cast(chosen, node.draft().dtype(input));
}

Result<TensorId> apply_over(NodeImport& node, Over what, TensorId input, int64_t axis) {
  if (what == Over::kHardmax) return hardmax(node, input, axis);
  Attributes attributes;
  attributes.set("axis", axis);
  return node.emit(what == Over::kSoftmax ? OpKind::kSoftmax : OpKind::kLogSoftmax, {input},
                   std::move(attributes));
}

// Before opset 13 the input is a matrix, split at `axis`, and a row is normalised as a whole.
Status over_matrix(NodeImport& node, Over what) {
  const int64_t given = node.attr_int("axis", 1);
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(given, node.rank(0)));
  const Shape shape = node.shape(0);
  TensorId id = node.input(0);
  if (axis == node.rank(0) - 1) {
    MODELD_ASSIGN(id, apply_over(node, what, id, axis));
  } else {
    const auto split = shape.begin() + axis;
    const int64_t rows = std::accumulate(shape.begin(), split, int64_t{1}, std::multiplies<>());
    const int64_t columns = std::accumulate(split, shape.end(), int64_t{1}, std::multiplies<>());
    MODELD_ASSIGN(id, node.reshape(id, {rows, columns}));
    MODELD_ASSIGN(id, apply_over(node, what, id, 1));
    MODELD_ASSIGN(id, node.reshape(id, shape));
  }
  node.set_output(0, id);
  return {};
}

template <Over kWhat>
Status over_axis(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  if (node.opset() < 13) return over_matrix(node, kWhat);
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", -1), node.rank(0)));
  MODELD_ASSIGN(const TensorId id, apply_over(node, kWhat, node.input(0), axis));
  node.set_output(0, id);
  return {};
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"ArgMax", arg<OpKind::kArgMax>},
    {"ArgMin", arg<OpKind::kArgMin>},
    {"Hardmax", over_axis<Over::kHardmax>},
    {"LogSoftmax", over_axis<Over::kLogSoftmax>},
    {"ReduceL1", reduce<OpKind::kReduceL1, 18>},
    {"ReduceL2", reduce<OpKind::kReduceL2, 18>},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce<OpKind::kReduceLogSumExp, 18>},
    {"ReduceMax", reduce<OpKind::kReduceMax, 18>},
    {"ReduceMean", reduce<OpKind::kReduceMean, 18>},
    {"ReduceMin", reduce<OpKind::kReduceMin, 18>},
    {"ReduceProd", reduce<OpKind::kReduceProd, 18>},
    {"ReduceSum", reduce<OpKind::kReduceSum, 13>},
    {"ReduceSumSquare", reduce<OpKind::kReduceSumSquare, 18>},
    {"Softmax", over_axis<Over::kSoftmax>},
});

}  // namespace

std::span<const ImporterRow> reduction_importers() {
  return kImporters;
}

}  // namespace modeld::compile
