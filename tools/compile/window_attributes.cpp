#include "tools/compile/window_attributes.h"

#include <algorithm>

namespace modeld::compile {
namespace {

constexpr int64_t kMaxWindow = int64_t{1} << 30;

Result<AutoPad> auto_pad_of(NodeImport& node) {
  const std::string text = node.attr_string("auto_pad", "NOTSET");
  if (text == "NOTSET") return AutoPad::kNotSet;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  if (text == "VALID") return AutoPad::kValid;
  return node.refused("attribute 'auto_pad' is not known");
}

}  // namespace

Result<std::vector<int64_t>> ints_or(NodeImport& node, std::string_view name, size_t count,
                                     int64_t otherwise, int64_t least) {
  std::vector<int64_t> values = node.attr_ints(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    return node.refused("attribute '" + std::string(name) + "' has the wrong length")
        .expecting(std::to_string(count), std::to_string(values.size()));
  }
  for (const int64_t value : values) {
    if (value < least || value > kMaxWindow) {
      return node.refused("attribute '" + std::string(name) + "' is out of range")
          .expecting(std::to_string(least) + " or more", std::to_string(value));
    }
  }
  return values;
}

void WindowAttributes::split_padding(size_t axis, int64_t total, bool begin_first) {
  const int64_t half = total / 2;
  pads[axis] = begin_first ? total - half : half;
  pads[axes() + axis] = total - pads[axis];
}

Attributes WindowAttributes::attributes() const {
  Attributes result;
  result.set("strides", strides);
  result.set("pads", pads);
  result.set("dilations", dilations);
  return result;
}

Result<WindowAttributes> window_attributes(NodeImport& node, size_t axes,
                                           std::vector<int64_t> kernel) {
  WindowAttributes window;
  const bool named = node.has_attribute("kernel_shape");
  if (kernel.empty() && !named) return node.refused("attribute 'kernel_shape' is missing");
  MODELD_ASSIGN(window.kernel, ints_or(node, "kernel_shape", axes, 1, 1));
  if (!kernel.empty() && named && kernel != window.kernel) {
    return node.refused("attribute 'kernel_shape' differs from the weights")
        .expecting(to_string(kernel), to_string(window.kernel));
  }
  if (!kernel.empty()) window.kernel = std::move(kernel);
  MODELD_ASSIGN(window.strides, ints_or(node, "strides", axes, 1, 1));
  MODELD_ASSIGN(window.dilations, ints_or(node, "dilations", axes, 1, 1));
  MODELD_ASSIGN(window.pads, ints_or(node, "pads", 2 * axes, 0, 0));
  MODELD_ASSIGN(window.auto_pad, auto_pad_of(node));
  if (window.auto_pad != AutoPad::kNotSet) window.pads.assign(2 * axes, 0);
  return window;
}

void resolve_auto_pad(WindowAttributes& window, const Shape& input) {
  if (window.auto_pad != AutoPad::kSameUpper && window.auto_pad != AutoPad::kSameLower) return;
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const int64_t extent = input[axis + 2];
    const int64_t stride = window.strides[axis];
    const int64_t outputs = (extent + stride - 1) / stride;
    const int64_t total = (outputs - 1) * stride + window.reach(axis) - extent;
    window.split_padding(axis, std::max<int64_t>(total, 0), window.auto_pad == AutoPad::kSameLower);
  }
}

}  // namespace modeld::compile
