// Ops about extents: what asks for them, what changes them without moving an element, and what
// makes tensors from them. All of it is gone or a Reshape when a program is made.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "runtime/base/checked.h"
#include "tools/compile/op_families.h"

namespace modeld::compile {
namespace {

Status reshape_output(NodeImport& node, const Shape& shape) {
  MODELD_ASSIGN(const TensorId id, node.reshape(node.input(0), shape));
  node.set_output(0, id);
  return {};
}

// 0 copies an extent (unless `allowzero`), -1 takes what is left.
Status reshape(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_ASSIGN(Shape shape, node.constant_ints(1, "shape"));
  const bool zero_copies = node.attr_int("allowzero", 0) == 0;
  int64_t known = 1;
  auto open = shape.end();
  for (auto extent = shape.begin(); extent != shape.end(); ++extent) {
    const auto axis = static_cast<size_t>(extent - shape.begin());
    if (*extent == 0 && zero_copies) {
      if (axis >= node.shape(0).size()) return node.refused("0 in 'shape' copies no axis");
      *extent = node.shape(0)[axis];
    }
    if (*extent < -1 || (*extent == -1 && open != shape.end())) {
      return node.refused("impossible 'shape' " + to_string(shape));
    }
    if (*extent == -1) {
      open = extent;
      continue;
    }
    const auto product = checked_mul(known, *extent);
    if (!product) return node.refused("impossible 'shape' " + to_string(shape));
    known = *product;
  }
  if (open != shape.end()) {
    const int64_t elements = node.draft().type(node.input(0)).elements();
    if (known == 0 || elements % known != 0) {
      return node.refused("'shape' does not fit")
          .expecting(to_string(shape), to_string(node.shape(0)));
    }
    *open = elements / known;
  }
  return reshape_output(node, shape);
}

Status flatten(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const Shape& shape = node.shape(0);
  const int64_t rank = node.rank(0);
  int64_t axis = node.attr_int("axis", 1);
  // Unlike elsewhere, an axis equal to the rank is allowed.
  if (axis != rank) {
    MODELD_ASSIGN(axis, node.resolve_axis(axis, rank));
  }
  const auto split = shape.begin() + axis;
  const int64_t rows = std::accumulate(shape.begin(), split, int64_t{1}, std::multiplies<>());
  const int64_t columns = std::accumulate(split, shape.end(), int64_t{1}, std::multiplies<>());
  return reshape_output(node, {rows, columns});
}

// Attribute before opset 13, input from then on.
Result<std::vector<int64_t>> listed_axes(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, node.opset() < 13 ? 1 : 2));
  if (node.has_input(1)) return node.constant_ints(1, "axes");
  return node.attr_ints("axes");
}

Status squeeze(NodeImport& node) {
  MODELD_ASSIGN(std::vector<int64_t> axes, listed_axes(node));
  MODELD_ASSIGN(axes, node.resolve_axes(std::move(axes), node.rank(0)));
  Shape shape;
  for (size_t axis = 0; axis < node.shape(0).size(); ++axis) {
    const int64_t extent = node.shape(0)[axis];
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(axis));
    if (named && extent != 1) {
      return node.refused("a squeezed axis is not 1").expecting("1", std::to_string(extent));
    }
    if (!named && !(axes.empty() && extent == 1)) shape.push_back(extent);
  }
  return reshape_output(node, shape);
}

Status unsqueeze(NodeImport& node) {
  MODELD_ASSIGN(std::vector<int64_t> axes, listed_axes(node));
  const int64_t rank = node.rank(0) + static_cast<int64_t>(axes.size());
  MODELD_ASSIGN(axes, node.resolve_axes(std::move(axes), rank));
  Shape shape = node.shape(0);
  for (const int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return reshape_output(node, shape);
}

Status identity(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  node.set_output(0, node.input(0));
  return {};
}

Status set_constant(NodeImport& node, size_t output, HostTensor value) {
  MODELD_ASSIGN(const TensorId id, node.constant(std::move(value)));
  node.set_output(output, id);
  return {};
}

// `type` filled with one element's bytes, if the budget for constants allows.
Result<HostTensor> filled(NodeImport& node, TensorType type, std::span<const std::byte> element) {
  const auto count = checked_elements(type.shape);
  if (!count || static_cast<uint64_t>(*count) > node.draft().fold.bytes / element.size()) {
    return node.refused("a constant is too large").expecting("fewer elements", to_string(type));
  }
  HostTensor tensor;
  tensor.bytes.resize(static_cast<size_t>(*count) * element.size());
  for (size_t at = 0; at < tensor.bytes.size(); at += element.size()) {
    std::copy(element.begin(), element.end(),
              tensor.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  tensor.type = std::move(type);
  return tensor;
}

// Inference: the identity. The mask of what was kept is all true (all one before opset 10).
Status dropout(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, node.opset() < 12 ? 1 : 3));
  node.ignore_attr("ratio");
  node.ignore_attr("seed");
  if (node.has_input(2)) {
    MODELD_ASSIGN(const double training, node.constant_scalar(2, "training_mode"));
    if (training != 0) return node.refused("dropout in training mode");
  }
  if (node.wants_output(1)) {
    const DType dtype = node.opset() < 10 ? node.dtype(0) : DType::kBool;
    const HostTensor one = from_doubles({dtype, {}}, std::vector<double>{1});
    MODELD_ASSIGN(HostTensor mask, filled(node, {dtype, node.shape(0)}, one.bytes));
    MODELD_TRY(set_constant(node, 1, std::move(mask)));
  }
  node.set_output(0, node.input(0));
  return {};
}

Status shape(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const int64_t rank = node.rank(0);
  const auto position = [&](std::string_view name, int64_t otherwise) {
    const int64_t at = node.attr_int(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = position("start", 0);
  const int64_t end = std::max(position("end", rank), start);
  const Shape& extents = node.shape(0);
  return set_constant(
      node, 0, from_ints(std::vector<int64_t>(extents.begin() + start, extents.begin() + end)));
}

Status size(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  HostTensor value = from_ints(std::vector<int64_t>{node.draft().type(node.input(0)).elements()});
  value.type.shape = {};
  return set_constant(node, 0, std::move(value));
}

Status constant_of_shape(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  MODELD_ASSIGN(Shape extents, node.constant_ints(0, "input"));
  const ConstantPtr value = node.attr_tensor("value");
  if (value && value->type.elements() != 1) return node.refused("'value' is not one element");
  const DType dtype = value ? value->type.dtype : DType::kFloat32;
  const std::vector<std::byte> zero(size_of(dtype));
  MODELD_ASSIGN(HostTensor tensor,
                filled(node, {dtype, std::move(extents)}, value ? value->bytes : zero));
  return set_constant(node, 0, std::move(tensor));
}

// Integer ranges are computed exactly; element i of a float range is start + i * delta.
Status range(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(3, 3));
  MODELD_ASSIGN(const double start, node.constant_scalar(0, "start"));
  MODELD_ASSIGN(const double limit, node.constant_scalar(1, "limit"));
  MODELD_ASSIGN(const double delta, node.constant_scalar(2, "delta"));
  const double count = delta == 0 ? -1 : std::max(std::ceil((limit - start) / delta), 0.0);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(count >= 0 && count < 1e8) || std::abs(start) > kExact || std::abs(limit) > kExact) {
    return node.refused("the range has no or too many elements");
  }
  if (count * 16 > static_cast<double>(node.draft().fold.bytes)) {
    return node.refused("the range has too many elements");
  }
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * delta;
  return set_constant(node, 0,
                      from_doubles({node.dtype(0), {static_cast<int64_t>(values.size())}}, values));
}

HostTensor floats_tensor(const std::vector<float>& values, Shape shape) {
  const std::vector<double> wide(values.begin(), values.end());
  return from_doubles({DType::kFloat32, std::move(shape)}, wide);
}

Status constant(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(0, 0));
  if (node.has_attribute("value")) {
    const ConstantPtr value = node.attr_tensor("value");
    if (!value) return node.refused("'value' is not a tensor");
    node.set_output(0, node.draft().add_constant(value, node.node().outputs.at(0)));
    return {};
  }
  if (node.has_attribute("value_int")) {
    HostTensor scalar = from_ints(std::vector<int64_t>{node.attr_int("value_int", 0)});
    scalar.type.shape = {};
    return set_constant(node, 0, std::move(scalar));
  }
  if (node.has_attribute("value_ints")) {
    return set_constant(node, 0, from_ints(node.attr_ints("value_ints")));
  }
  if (node.has_attribute("value_float")) {
    const auto value = static_cast<float>(node.attr_float("value_float", 0));
    return set_constant(node, 0, floats_tensor({value}, {}));
  }
  const std::vector<float> values = node.attr_floats("value_floats");
  if (values.empty()) return node.unsupported("a constant without a value of numbers");
  return set_constant(node, 0, floats_tensor(values, {static_cast<int64_t>(values.size())}));
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"Dropout", dropout},
    {"Flatten", flatten},
    {"Identity", identity},
    {"Range", range},
    {"Reshape", reshape},
    {"Shape", shape},
    {"Size", size},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
});

}  // namespace

std::span<const ImporterRow> shape_importers() {
  return kImporters;
}

}  // namespace modeld::compile
