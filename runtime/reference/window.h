// Where the taps of a sliding window fall: the index arithmetic of convolutions and pools.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/program/op.h"
#include "runtime/reference/kernel.h"

namespace modeld::reference {

// On every spatial axis, position d of the dense side and tap k meet position
// d * stride + k * dilation - pad of the strided side, if that exists. A convolution or pool has
// its output on the dense side and its input on the strided one; a transposed convolution the
// other way round.
class Window {
 public:
  struct Axis {
    int64_t dense = 0;
    int64_t strided = 0;
    int64_t kernel = 1;
    int64_t stride = 1;
    int64_t dilation = 1;
    int64_t pad = 0;
  };

  explicit Window(std::vector<Axis> axes) : axes_(std::move(axes)) { merge_pointwise_axes(); }

  // The axes of an op with `strides`, `pads` and `dilations`; extents are the spatial ones.
  static Window of(const Attributes& attributes, const Shape& kernel, const Shape& dense,
                   const Shape& strided);

  int64_t taps() const { return product(&Axis::kernel); }
  int64_t dense_elements() const { return product(&Axis::dense); }
  int64_t strided_elements() const { return product(&Axis::strided); }
  // Between neighbours of a row on the strided side.
  int64_t row_stride() const { return axes_.back().stride; }

  const std::vector<Axis>& axes() const { return axes_; }

  // Dense positions [low, high) meet the strided side at position * stride + base.
  struct Reach {
    int64_t low = 0;
    int64_t high = 0;
    int64_t base = 0;
  };
  // Of one tap of one axis.
  static Reach reach_of(const Axis& a, int64_t tap) {
    const int64_t base = tap * a.dilation - a.pad;
    const int64_t low = base < 0 ? (-base + a.stride - 1) / a.stride : 0;
    const int64_t last = a.strided - 1 - base;
    const int64_t high = last < 0 ? 0 : std::min(a.dense, last / a.stride + 1);
    return {low, std::max(low, high), base};
  }

  // For each tap in C order: visit(tap, dense, strided, count) for each row of positions it
  // reaches: `count` neighbours from flat index `dense` on one side, `strided` on the other.
  template <typename Visit>
  void for_each_row(Visit visit) const {
    std::array<int64_t, kMaxRank> tap{};
    const int64_t count = taps();
    for (int64_t flat = 0; flat < count; ++flat) {
      std::array<Reach, kMaxRank> reach{};
      for (size_t axis = 0; axis < axes_.size(); ++axis)
        reach[axis] = reach_of(axes_[axis], tap[axis]);
      rows(reach, 0, 0, 0, [&](int64_t dense, int64_t strided, int64_t length) {
        visit(flat, dense, strided, length);
      });
      for (size_t axis = axes_.size(); axis-- > 0;) {
        if (++tap[axis] < axes_[axis].kernel) break;
        tap[axis] = 0;
      }
    }
  }

 private:
  template <typename Visit>
  void rows(const std::array<Reach, kMaxRank>& reach, size_t axis, int64_t dense, int64_t strided,
            const Visit& visit) const {
    const Reach& r = reach[axis];
    const Axis& a = axes_[axis];
    const int64_t dense_start = dense * a.dense;
    const int64_t strided_start = strided * a.strided + r.base;
    if (axis + 1 == axes_.size()) {
      if (r.high > r.low) {
        visit(dense_start + r.low, strided_start + r.low * a.stride, r.high - r.low);
      }
      return;
    }
    for (int64_t d = r.low; d < r.high; ++d) {
      rows(reach, axis + 1, dense_start + d, strided_start + d * a.stride, visit);
    }
  }

  int64_t product(int64_t Axis::*member) const {
    int64_t result = 1;
    for (const Axis& axis : axes_) result *= axis.*member;
    return result;
  }

  // A 1x1 window sees one long row.
  void merge_pointwise_axes();

  std::vector<Axis> axes_;
};

}  // namespace modeld::reference
