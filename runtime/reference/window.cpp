#include "runtime/reference/window.h"

namespace modeld::reference {

Window Window::of(const Attributes& attributes, const Shape& kernel, const Shape& dense,
                  const Shape& strided) {
  const auto strides = attributes.get_ints("strides");
  const auto pads = attributes.get_ints("pads");
  const auto dilations = attributes.get_ints("dilations");
  std::vector<Axis> axes;
  for (size_t i = 0; i < kernel.size(); ++i) {
    axes.push_back({dense[i], strided[i], kernel[i], strides[i], dilations[i], pads[i]});
  }
  return Window(std::move(axes));
}

void Window::merge_pointwise_axes() {
  const bool pointwise = std::all_of(axes_.begin(), axes_.end(), [](const Axis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad == 0 && axis.dense == axis.strided;
  });
  if (!pointwise) return;
  Axis merged;
  merged.dense = dense_elements();
  merged.strided = merged.dense;
  axes_ = {merged};
}

}  // namespace modeld::reference
