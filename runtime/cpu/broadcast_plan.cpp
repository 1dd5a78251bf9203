#include "runtime/cpu/broadcast_plan.h"

#include <cassert>

namespace modeld::cpu {
namespace {

struct Axis {
  int64_t extent;
  BroadcastPlan::Offsets strides;
};

// True if `inner` continues `outer` for every input, so that both are one axis.
bool continues(const Axis& outer, const Axis& inner) {
  for (size_t k = 0; k < kMaxBroadcastInputs; ++k) {
    if (outer.strides[k] != inner.strides[k] * inner.extent) return false;
  }
  return true;
}

}  // namespace

BroadcastPlan::BroadcastPlan(const Shape& shape, Layout layout, const std::vector<Input>& inputs) {
  std::vector<Offsets> by_axis(shape.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Shape& own = inputs[k].shape;
    const std::vector<int64_t> strides = strides_of(own, inputs[k].layout);
    const size_t skip = shape.size() - own.size();
    for (size_t axis = 0; axis < own.size(); ++axis) {
      if (own[axis] != 1) by_axis[skip + axis][k] = strides[axis];
    }
  }
  std::vector<Axis> axes;
  for (const size_t axis : storage_order(shape.size(), layout)) {
    if (shape[axis] == 1) continue;
    const Axis next{shape[axis], by_axis[axis]};
    if (!axes.empty() && continues(axes.back(), next)) {
      axes.back() = {axes.back().extent * next.extent, next.strides};
    } else {
      axes.push_back(next);
    }
  }
  if (!axes.empty()) {
    row_length_ = axes.back().extent;
    row_strides_ = axes.back().strides;
    axes.pop_back();
  }
  assert(axes.size() <= kMaxAxes);
  axes_ = axes.size();
  for (size_t i = 0; i < axes_; ++i) {
    extents_[i] = axes[i].extent;
    strides_[i] = axes[i].strides;
    rows_ *= axes[i].extent;
  }
}

}  // namespace modeld::cpu
