// Moving elements between two strided views of the same extents: transposes, slices, concatenation,
// broadcasting copies and changes of layout are all this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace modeld::cpu {

struct CopyAxis {
  int64_t extent;
  int64_t from_stride;  // elements; 0 repeats, negative walks backwards
  int64_t to_stride;    // elements
};

// Immutable once made; run() may be called by several threads with different parts.
class CopyPlan {
 public:
  // `element_bytes` is 1, 2, 4 or 8. Offsets in elements.
  CopyPlan(size_t element_bytes, std::vector<CopyAxis> axes, int64_t from_offset = 0,
           int64_t to_offset = 0);

  void run(const std::byte* from, std::byte* to, unsigned part = 0, unsigned parts = 1) const;

  uint64_t bytes() const;

 private:
  template <typename Element>
  void run_typed(const Element* from, Element* to, unsigned part, unsigned parts) const;

  size_t element_bytes_;
  std::vector<CopyAxis> axes_;  // outer to inner, without extents of 1, merged
  int64_t from_offset_;
  int64_t to_offset_;
  bool empty_ = false;
  bool transposing_ = false;  // the last two axes are walked in tiles
};

}  // namespace modeld::cpu
