// kernel_shape, strides, pads, dilations and auto_pad: common to convolutions and pools.
#pragma once

#include <vector>

#include "tools/compile/node_import.h"

namespace modeld::compile {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

struct WindowAttributes {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;  // begins, then ends; zero unless auto_pad is kNotSet
  AutoPad auto_pad = AutoPad::kNotSet;

  size_t axes() const { return kernel.size(); }
  // Extent from the first tap to the last.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  // Replaces `pads` of one axis by `total`, split evenly; the odd one goes to the end or, with
  // `begin_first`, to the beginning.
  void split_padding(size_t axis, int64_t total, bool begin_first);
  // strides, pads and dilations as canonical attributes.
  Attributes attributes() const;
};

// Attribute `name` with `count` values of `least` or more, all `otherwise` where it is absent.
Result<std::vector<int64_t>> ints_or(NodeImport& node, std::string_view name, size_t count,
                                     int64_t otherwise, int64_t least);

// For an input of `axes` spatial axes; `kernel` overrides (and is checked against) kernel_shape if
// not empty. Numbers are bounded so that sums and products of two cannot overflow.
Result<WindowAttributes> window_attributes(NodeImport& node, size_t axes,
                                           std::vector<int64_t> kernel = {});

// auto_pad of ops that slide over the input (Conv, pools): SAME gives ceil(extent / stride)
// outputs.
void resolve_auto_pad(WindowAttributes& window, const Shape& input);

}  // namespace modeld::compile
