// Pools and Resize.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tools/compile/op_families.h"
#include "tools/compile/window_attributes.h"

namespace modeld::compile {
namespace {

Result<Attributes> pool_attributes(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  if (node.rank(0) < 3) {
    return node.refused("no spatial axes").expecting("rank 3 or more", to_string(node.shape(0)));
  }
  const auto axes = static_cast<size_t>(node.rank(0) - 2);
  MODELD_ASSIGN(WindowAttributes window, window_attributes(node, axes));
  resolve_auto_pad(window, node.shape(0));
  Attributes attributes = window.attributes();
  attributes.set("kernel_shape", window.kernel);
  attributes.set("ceil_mode", node.attr_int("ceil_mode", 0));
  return attributes;
}

Status max_pool(NodeImport& node) {
  MODELD_ASSIGN(Attributes attributes, pool_attributes(node));
  const bool columns = node.attr_int("storage_order", 0) != 0;
  if (node.wants_output(1)) {
    attributes.set("indices", std::string(columns ? "column_major" : "row_major"));
  }
  MODELD_ASSIGN(const std::vector<TensorId> ids,
                node.emit_many(OpKind::kMaxPool, {node.input(0)}, std::move(attributes)));
  for (size_t i = 0; i < ids.size(); ++i) node.set_output(i, ids[i]);
  return {};
}

Status average_pool(NodeImport& node) {
  MODELD_ASSIGN(Attributes attributes, pool_attributes(node));
  attributes.set("count_include_pad", node.attr_int("count_include_pad", 0));
  MODELD_ASSIGN(const TensorId id,
                node.emit(OpKind::kAveragePool, {node.input(0)}, std::move(attributes)));
  node.set_output(0, id);
  return {};
}

template <OpKind kReduction>
Status global_pool(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  if (node.rank(0) < 3) {
    return node.refused("no spatial axes").expecting("rank 3 or more", to_string(node.shape(0)));
  }
  std::vector<int64_t> axes(static_cast<size_t>(node.rank(0) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  Attributes attributes;
  attributes.set("axes", std::move(axes));
  attributes.set("keepdims", int64_t{1});
  MODELD_ASSIGN(const TensorId id, node.emit(kReduction, {node.input(0)}, std::move(attributes)));
  node.set_output(0, id);
  return {};
}

// What a resizing op asks for, one value per axis of the input.
struct Resizing {
  std::vector<double> scales;
  std::vector<int64_t> sizes;
  std::vector<double> roi;
};

// ONNX stores scales as float32 and multiplies in float32.
int64_t scaled_extent(int64_t extent, double scale) {
  return static_cast<int64_t>(std::floor(static_cast<float>(extent) * static_cast<float>(scale)));
}

Status check_scale(const NodeImport& node, double scale) {
  if (std::isfinite(scale) && scale > 0 && scale < 65536) return {};
  return node.refused("a scale is out of range").expecting("0..65536", std::to_string(scale));
}

// The axes that scales and sizes speak of: all, or `axes` (opset 18).
Result<std::vector<int64_t>> resized_axes(NodeImport& node) {
  std::vector<int64_t> axes = node.attr_ints("axes");
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(node.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) {
    MODELD_ASSIGN(axis, node.resolve_axis(axis, node.rank(0)));
  }
  return axes;
}

template <typename List>
Status check_length(const NodeImport& node, const List& list, size_t want, std::string_view what) {
  if (list.size() == want) return {};
  return node.refused("'" + std::string(what) + "' has the wrong length")
      .expecting(std::to_string(want), std::to_string(list.size()));
}

Status apply_scales(NodeImport& node, const std::vector<double>& scales,
                    const std::vector<int64_t>& axes, Resizing& result) {
  MODELD_TRY(check_length(node, scales, axes.size(), "scales"));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    MODELD_TRY(check_scale(node, scales[i]));
    result.scales[axis] = scales[i];
    result.sizes[axis] = scaled_extent(node.shape(0)[axis], scales[i]);
  }
  return {};
}

// `keep_aspect_ratio_policy` (opset 18): one scale for all named axes, sizes rounded half up.
Status keep_aspect_ratio(NodeImport& node, const std::vector<int64_t>& axes, Resizing& result) {
  const std::string policy = node.attr_string("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return {};
  const bool larger = policy == "not_smaller";
  if (!larger && policy != "not_larger") {
    return node.refused("attribute 'keep_aspect_ratio_policy' is not known");
  }
  double scale = result.scales[static_cast<size_t>(axes[0])];
  for (const int64_t axis : axes) {
    const double other = result.scales[static_cast<size_t>(axis)];
    scale = larger ? std::max(scale, other) : std::min(scale, other);
  }
  for (const int64_t axis : axes) {
    const auto at = static_cast<size_t>(axis);
    result.scales[at] = scale;
    result.sizes[at] =
        static_cast<int64_t>(std::floor(scale * static_cast<double>(node.shape(0)[at]) + 0.5));
  }
  return {};
}

Status apply_sizes(NodeImport& node, const std::vector<int64_t>& sizes,
                   const std::vector<int64_t>& axes, Resizing& result) {
  MODELD_TRY(check_length(node, sizes, axes.size(), "sizes"));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const int64_t extent = node.shape(0)[axis];
    if (extent < 1 || sizes[i] < 1) return node.unsupported("resizing an empty axis");
    result.sizes[axis] = sizes[i];
    result.scales[axis] = static_cast<double>(sizes[i]) / static_cast<double>(extent);
    MODELD_TRY(check_scale(node, result.scales[axis]));
  }
  return keep_aspect_ratio(node, axes, result);
}

Status apply_roi(NodeImport& node, size_t input, const std::vector<int64_t>& axes,
                 Resizing& result) {
  MODELD_ASSIGN(const std::vector<double> roi, node.constant_doubles(input, "roi"));
  MODELD_TRY(check_length(node, roi, 2 * axes.size(), "roi"));
  const size_t rank = node.shape(0).size();
  result.roi.assign(rank, 0);
  result.roi.resize(2 * rank, 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    result.roi[static_cast<size_t>(axes[i])] = roi[i];
    result.roi[rank + static_cast<size_t>(axes[i])] = roi[axes.size() + i];
  }
  return {};
}

Resizing unchanged(const NodeImport& node) {
  return {std::vector<double>(node.shape(0).size(), 1.0), node.shape(0), {}};
}

Status emit_resize(NodeImport& node, Resizing resizing, Attributes attributes) {
  attributes.set("scales", std::move(resizing.scales));
  attributes.set("sizes", std::move(resizing.sizes));
  if (!resizing.roi.empty()) attributes.set("roi", std::move(resizing.roi));
  MODELD_ASSIGN(const TensorId id,
                node.emit(OpKind::kResize, {node.input(0)}, std::move(attributes)));
  node.set_output(0, id);
  return {};
}

// Upsample and the first Resize (opset 10): coordinates are divided by the scale, nearest takes
// the element below.
Status resize_by_scales(NodeImport& node, const std::vector<double>& scales) {
  const std::string mode = node.attr_string("mode", "nearest");
  MODELD_ASSIGN(const std::vector<int64_t> axes, resized_axes(node));
  Resizing resizing = unchanged(node);
  MODELD_TRY(apply_scales(node, scales, axes, resizing));
  Attributes attributes;
  attributes.set("mode", mode == "bilinear" ? std::string("linear") : mode);
  attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  attributes.set("nearest_mode", std::string("floor"));
  return emit_resize(node, std::move(resizing), std::move(attributes));
}

Status upsample(NodeImport& node) {
  if (node.opset() < 9) {
    MODELD_TRY(node.expect_inputs(1, 1));
    const std::vector<float> scales = node.attr_floats("scales");
    return resize_by_scales(node, {scales.begin(), scales.end()});
  }
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_ASSIGN(const std::vector<double> scales, node.constant_doubles(1, "scales"));
  return resize_by_scales(node, scales);
}

Attributes resize_attributes(NodeImport& node) {
  Attributes attributes;
  attributes.set("mode", node.attr_string("mode", "nearest"));
  attributes.set("coordinate_transformation_mode",
                 node.attr_string("coordinate_transformation_mode", "half_pixel"));
  attributes.set("nearest_mode", node.attr_string("nearest_mode", "round_prefer_floor"));
  attributes.set("cubic_coeff_a", node.attr_float("cubic_coeff_a", -0.75));
  if (node.attr_int("antialias", 0) != 0) attributes.set("antialias", int64_t{1});
  attributes.set("exclude_outside", node.attr_int("exclude_outside", 0));
  attributes.set("extrapolation_value", node.attr_float("extrapolation_value", 0));
  return attributes;
}

bool has_values(const NodeImport& node, size_t input) {
  if (!node.has_input(input)) return false;
  // An empty tensor is the older spelling of "not given".
  const Shape& shape = node.shape(input);
  return std::find(shape.begin(), shape.end(), 0) == shape.end();
}

Status resize(NodeImport& node) {
  if (node.opset() == 10) {
    MODELD_TRY(node.expect_inputs(2, 2));
    MODELD_ASSIGN(const std::vector<double> scales, node.constant_doubles(1, "scales"));
    return resize_by_scales(node, scales);
  }
  MODELD_TRY(node.expect_inputs(1, 4));
  Attributes attributes = resize_attributes(node);
  MODELD_ASSIGN(const std::vector<int64_t> axes, resized_axes(node));
  Resizing resizing = unchanged(node);
  if (attributes.get_string("coordinate_transformation_mode") == "tf_crop_and_resize") {
    MODELD_TRY(apply_roi(node, 1, axes, resizing));
  }
  if (has_values(node, 3)) {
    MODELD_ASSIGN(const std::vector<int64_t> sizes, node.constant_ints(3, "sizes"));
    MODELD_TRY(apply_sizes(node, sizes, axes, resizing));
  } else {
    node.ignore_attr("keep_aspect_ratio_policy");  // concerns sizes only
    MODELD_ASSIGN(const std::vector<double> scales, node.constant_doubles(2, "scales"));
    MODELD_TRY(apply_scales(node, scales, axes, resizing));
  }
  return emit_resize(node, std::move(resizing), std::move(attributes));
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_pool<OpKind::kReduceMean>},
    {"GlobalMaxPool", global_pool<OpKind::kReduceMax>},
    {"MaxPool", max_pool},
    {"Resize", resize},
    {"Upsample", upsample},
});

}  // namespace

std::span<const ImporterRow> window_importers() {
  return kImporters;
}

}  // namespace modeld::compile
