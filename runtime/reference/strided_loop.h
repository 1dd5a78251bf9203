// Loop nests over a shape with one stride per operand and axis.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/program/tensor.h"

namespace modeld::reference {

// Elements between neighbours on each axis of a dense tensor.
inline std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// Strides that read a dense tensor of shape `from` as if it had shape `to` (ONNX broadcasting).
inline std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  std::vector<int64_t> strides(to.size(), 0);
  const std::vector<int64_t> dense = dense_strides(from);
  const size_t skip = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[skip + axis] = dense[axis];
  }
  return strides;
}

// Axes of extent 1 are dropped and neighbours merged where every operand allows it, so that the
// innermost axis, a row, is as long as possible and index arithmetic stays out of it.
template <size_t kOperands>
class StridedLoop {
 public:
  using Offsets = std::array<int64_t, kOperands>;

  // One stride list per operand, each as long as `shape`.
  StridedLoop(const Shape& shape, const std::array<std::vector<int64_t>, kOperands>& strides) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      Axis next{shape[axis], {}};
      for (size_t k = 0; k < kOperands; ++k) next.stride[k] = strides[k][axis];
      append(next);
    }
    if (!axes_.empty()) {
      row_ = axes_.back();
      axes_.pop_back();
    }
    index_.assign(axes_.size(), 0);
  }

  int64_t row_length() const { return row_.extent; }
  const Offsets& row_strides() const { return row_.stride; }

  // Calls visit(offsets) with the element offsets of each row's start, in C order.
  template <typename Visit>
  void for_each_row(Visit visit) {
    if (empty_) return;
    Offsets at{};
    while (true) {
      visit(at);
      size_t axis = axes_.size();
      while (axis > 0 && !step(axis - 1, at)) --axis;
      if (axis == 0) return;
    }
  }

 private:
  struct Axis {
    int64_t extent = 1;
    Offsets stride{};
  };

  void append(const Axis& next) {
    if (next.extent == 0) empty_ = true;
    if (next.extent == 1) return;
    if (!axes_.empty() && continues(axes_.back(), next)) {
      axes_.back() = {axes_.back().extent * next.extent, next.stride};
    } else {
      axes_.push_back(next);
    }
  }

  static bool continues(const Axis& outer, const Axis& inner) {
    for (size_t k = 0; k < kOperands; ++k) {
      if (outer.stride[k] != inner.stride[k] * inner.extent) return false;
    }
    return true;
  }

  // Moves one further on `axis`; false if that wrapped to its start.
  bool step(size_t axis, Offsets& at) {
    const bool wraps = ++index_[axis] == axes_[axis].extent;
    const int64_t by = wraps ? 1 - axes_[axis].extent : 1;
    if (wraps) index_[axis] = 0;
    for (size_t k = 0; k < kOperands; ++k) at[k] += by * axes_[axis].stride[k];
    return !wraps;
  }

  std::vector<Axis> axes_;
  Axis row_;
  std::vector<int64_t> index_;
  bool empty_ = false;
};

}  // namespace modeld::reference
