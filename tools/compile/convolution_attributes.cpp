#include "tools/compile/convolution_attributes.h"

#include <algorithm>

#include "tools/compile/window_attributes.h"

namespace modeld::compile {

Result<std::vector<int64_t>> convolution_kernel(const NodeImport& node, size_t data,
                                                size_t weights) {
  if (node.rank(data) < 3 || node.rank(weights) != node.rank(data)) {
    return node.refused("data and weights do not have the same, spatial rank")
        .expecting("3 or more axes",
                   to_string(node.shape(data)) + " and " + to_string(node.shape(weights)));
  }
  std::vector<int64_t> kernel(node.shape(weights).begin() + 2, node.shape(weights).end());
  if (std::any_of(kernel.begin(), kernel.end(), [](int64_t extent) { return extent < 1; })) {
    return node.refused("weights without extent " + to_string(node.shape(weights)));
  }
  return kernel;
}

Result<Attributes> convolution_attributes(NodeImport& node, size_t data, size_t weights) {
  MODELD_ASSIGN(std::vector<int64_t> kernel, convolution_kernel(node, data, weights));
  const size_t axes = kernel.size();
  MODELD_ASSIGN(WindowAttributes window, window_attributes(node, axes, std::move(kernel)));
  resolve_auto_pad(window, node.shape(data));
  Attributes attributes = window.attributes();
  attributes.set("group", node.attr_int("group", 1));
  return attributes;
}

}  // namespace modeld::compile
