#include "runtime/cpu/copy_plan.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "runtime/cpu/step.h"

namespace modeld::cpu {
namespace {

// Tiles of a transposing copy: a cache line's worth of 4-byte elements each way, twice.
constexpr int64_t kTile = 32;
constexpr size_t kMaxAxes = 16;

std::vector<CopyAxis> merged(std::vector<CopyAxis> axes) {
  std::erase_if(axes, [](const CopyAxis& axis) { return axis.extent == 1; });
  std::stable_sort(axes.begin(), axes.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.to_stride > b.to_stride; });
  std::vector<CopyAxis> out;
  for (const CopyAxis& axis : axes) {
    if (!out.empty() && out.back().to_stride == axis.to_stride * axis.extent &&
        out.back().from_stride == axis.from_stride * axis.extent) {
      out.back() = {out.back().extent * axis.extent, axis.from_stride, axis.to_stride};
    } else {
      out.push_back(axis);
    }
  }
  return out;
}

template <typename Element>
void copy_row(const Element* from, Element* to, const CopyAxis& axis, int64_t begin, int64_t end) {
  if (axis.from_stride == 1 && axis.to_stride == 1) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(Element));
    return;
  }
  if (axis.from_stride == 0 && axis.to_stride == 1) {
    std::fill(to + begin, to + end, *from);
    return;
  }
  if (axis.from_stride == 2 && axis.to_stride == 1) {  // a constant stride becomes shuffles
    for (int64_t i = begin; i < end; ++i) to[i] = from[i * 2];
    return;
  }
  for (int64_t i = begin; i < end; ++i) to[i * axis.to_stride] = from[i * axis.from_stride];
}

// A few planes woven into rows of `kColumns`: what turns a picture's channels around.
template <int64_t kColumns, typename Element>
void weave(const Element* from, Element* to, const CopyAxis& rows, int64_t plane, int64_t begin,
           int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      to[i * kColumns + j] = from[i * rows.from_stride + j * plane];
    }
  }
}

// The reverse.
template <int64_t kRows, typename Element>
void unweave(const Element* from, Element* to, const CopyAxis& rows, int64_t columns, int64_t begin,
             int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    Element* target = to + i * rows.to_stride;
    const Element* source = from + i;
    for (int64_t j = 0; j < columns; ++j) target[j] = source[j * kRows];
  }
}

// True if it was one of the common numbers of channels.
template <typename Element>
bool copy_woven(const Element* from, Element* to, const CopyAxis& rows, const CopyAxis& columns,
                int64_t begin, int64_t end) {
  if (rows.from_stride != 1 || columns.to_stride != 1) return false;
  if (rows.to_stride == columns.extent) {
    switch (columns.extent) {
      case 3:
        return weave<3>(from, to, rows, columns.from_stride, begin, end), true;
      case 4:
        return weave<4>(from, to, rows, columns.from_stride, begin, end), true;
      case 6:
        return weave<6>(from, to, rows, columns.from_stride, begin, end), true;
      case 12:
        return weave<12>(from, to, rows, columns.from_stride, begin, end), true;
      default:
        break;
    }
  }
  if (columns.from_stride == rows.extent) {
    switch (rows.extent) {
      case 2:
        return unweave<2>(from, to, rows, columns.extent, begin, end), true;
      case 3:
        return unweave<3>(from, to, rows, columns.extent, begin, end), true;
      case 4:
        return unweave<4>(from, to, rows, columns.extent, begin, end), true;
      default:
        break;
    }
  }
  return false;
}

// `rows` is contiguous in `from`, `columns` in `to`.
template <typename Element>
void copy_tiles(const Element* from, Element* to, const CopyAxis& rows, const CopyAxis& columns,
                int64_t begin, int64_t end) {
  if (copy_woven(from, to, rows, columns, begin, end)) return;
  for (int64_t r = begin; r < end; r += kTile) {
    const int64_t r_end = std::min(r + kTile, end);
    for (int64_t c = 0; c < columns.extent; c += kTile) {
      const int64_t c_end = std::min(c + kTile, columns.extent);
      for (int64_t i = r; i < r_end; ++i) {
        const Element* source = from + i * rows.from_stride;
        Element* target = to + i * rows.to_stride;
        for (int64_t j = c; j < c_end; ++j) target[j] = source[j * columns.from_stride];
      }
    }
  }
}

}  // namespace

CopyPlan::CopyPlan(size_t element_bytes, std::vector<CopyAxis> axes, int64_t from_offset,
                   int64_t to_offset)
    : element_bytes_(element_bytes), from_offset_(from_offset), to_offset_(to_offset) {
  empty_ = std::any_of(axes.begin(), axes.end(), [](const CopyAxis& a) { return a.extent == 0; });
  axes_ = merged(std::move(axes));
  if (axes_.empty()) axes_.push_back({1, 1, 1});
  assert(axes_.size() <= kMaxAxes);
  // Bring the axis that is contiguous in `from` next to the one that is contiguous in `to`.
  const size_t last = axes_.size() - 1;
  if (axes_[last].to_stride != 1 || axes_[last].from_stride == 1 || axes_[last].from_stride == 0) {
    return;
  }
  for (size_t i = 0; i < last; ++i) {
    if (axes_[i].from_stride != 1) continue;
    std::rotate(axes_.begin() + static_cast<std::ptrdiff_t>(i),
                axes_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                axes_.begin() + static_cast<std::ptrdiff_t>(last));
    transposing_ = true;
    return;
  }
}

uint64_t CopyPlan::bytes() const {
  if (empty_) return 0;
  uint64_t bytes = element_bytes_;
  for (const CopyAxis& axis : axes_) bytes *= static_cast<uint64_t>(axis.extent);
  return bytes;
}

template <typename Element>
void CopyPlan::run_typed(const Element* from, Element* to, unsigned part, unsigned parts) const {
  const size_t inner = transposing_ ? 2 : 1;
  const size_t outer = axes_.size() - inner;
  // The longest axis that is not the row itself is shared out; with none, the row is.
  size_t split = outer;
  for (size_t i = 0; i < outer; ++i) {
    if (axes_[i].extent >= parts && (split == outer || axes_[i].extent > axes_[split].extent)) {
      split = i;
    }
  }
  std::array<Share, kMaxAxes> range{};
  for (size_t i = 0; i < axes_.size(); ++i) {
    range[i] = i == split ? share_of(axes_[i].extent, part, parts, i == outer ? 16 : 1)
                          : Share{0, axes_[i].extent};
    if (range[i].begin == range[i].end) return;
  }
  std::array<int64_t, kMaxAxes> index{};
  from += from_offset_;
  to += to_offset_;
  for (size_t i = 0; i < outer; ++i) {
    index[i] = range[i].begin;
    from += index[i] * axes_[i].from_stride;
    to += index[i] * axes_[i].to_stride;
  }
  while (true) {
    if (transposing_) {
      copy_tiles(from, to, axes_[outer], axes_[outer + 1], range[outer].begin, range[outer].end);
    } else {
      copy_row(from, to, axes_[outer], range[outer].begin, range[outer].end);
    }
    size_t axis = outer;
    while (axis-- > 0) {
      from += axes_[axis].from_stride;
      to += axes_[axis].to_stride;
      if (++index[axis] < range[axis].end) break;
      const int64_t length = range[axis].end - range[axis].begin;
      from -= length * axes_[axis].from_stride;
      to -= length * axes_[axis].to_stride;
      index[axis] = range[axis].begin;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

void CopyPlan::run(const std::byte* from, std::byte* to, unsigned part, unsigned parts) const {
  if (empty_) return;
  switch (element_bytes_) {
    case 1:
      return run_typed(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(to), part,
                       parts);
    case 2:
      return run_typed(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to),
                       part, parts);
    case 4:
      return run_typed(reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to),
                       part, parts);
    default:
      return run_typed(reinterpret_cast<const uint64_t*>(from), reinterpret_cast<uint64_t*>(to),
                       part, parts);
  }
}

}  // namespace modeld::cpu
