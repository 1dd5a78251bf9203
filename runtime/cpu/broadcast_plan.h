// Walks a dense output and the inputs that broadcast to it, row by row.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/cpu/simd.h"
#include "runtime/cpu/step.h"
#include "runtime/cpu/values.h"

namespace modeld::cpu {

constexpr size_t kMaxBroadcastInputs = 3;

// Immutable once made. Offsets and strides in elements.
class BroadcastPlan {
 public:
  struct Input {
    Shape shape;  // logical
    Layout layout;
  };

  // The output is dense in `layout`.
  BroadcastPlan(const Shape& shape, Layout layout, const std::vector<Input>& inputs);

  using Offsets = std::array<int64_t, kMaxBroadcastInputs>;

  // Along a row, input k moves by strides()[k] per output element: 0 or anything.
  const Offsets& row_strides() const { return row_strides_; }
  int64_t elements() const { return rows_ * row_length_; }

  // Calls visit(out_offset, in_offsets, count) for the rows of `part`.
  template <typename Visit>
  MODELD_ALWAYS_INLINE void for_each_row(unsigned part, unsigned parts, const Visit& visit) const {
    if (rows_ == 0 || row_length_ == 0) return;
    const bool by_rows = rows_ >= static_cast<int64_t>(parts);
    const Share rows = by_rows ? share_of(rows_, part, parts) : Share{0, rows_};
    // Whole cache lines of float32 per member.
    const Share cut = by_rows ? Share{0, row_length_} : share_of(row_length_, part, parts, 16);
    if (cut.begin == cut.end) return;
    std::array<int64_t, kMaxAxes> index{};
    Offsets at{};
    int64_t rest = rows.begin;
    for (size_t i = axes_; i-- > 0;) {
      index[i] = rest % extents_[i];
      rest /= extents_[i];
      for (size_t k = 0; k < kMaxBroadcastInputs; ++k) at[k] += index[i] * strides_[i][k];
    }
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      Offsets from;
      for (size_t k = 0; k < kMaxBroadcastInputs; ++k) {
        from[k] = at[k] + cut.begin * row_strides_[k];
      }
      visit(row * row_length_ + cut.begin, from, cut.end - cut.begin);
      for (size_t i = axes_; i-- > 0;) {
        const bool wraps = ++index[i] == extents_[i];
        const int64_t by = wraps ? 1 - extents_[i] : 1;
        for (size_t k = 0; k < kMaxBroadcastInputs; ++k) at[k] += by * strides_[i][k];
        if (!wraps) break;
        index[i] = 0;
      }
    }
  }

 private:
  static constexpr size_t kMaxAxes = 8;

  // Outer axes, outermost first; the row is apart.
  size_t axes_ = 0;
  std::array<int64_t, kMaxAxes> extents_{};
  std::array<Offsets, kMaxAxes> strides_{};
  int64_t rows_ = 1;
  int64_t row_length_ = 1;
  Offsets row_strides_{};
};

}  // namespace modeld::cpu
