#include "runtime/selftest/steadiness.h"

#include <algorithm>

namespace modeld {

void Steadiness::add(std::span<const std::byte> bytes) {
  if (hashes_.empty()) reference_.assign(bytes.begin(), bytes.end());
  if (!hashes_.insert(sha256(bytes)).second) return;
  const size_t size = size_of(type_.dtype);
  for (size_t at = 0; at < bytes.size(); at += size) {
    const auto element = bytes.subspan(at, size);
    if (!std::equal(element.begin(), element.end(),
                    reference_.begin() + static_cast<std::ptrdiff_t>(at))) {
      widen(static_cast<int64_t>(at / size));
    }
  }
}

void Steadiness::widen(int64_t element) {
  const size_t rank = type_.shape.size();
  std::vector<int64_t> index(rank);
  for (size_t axis = rank; axis-- > 0;) {
    index[axis] = element % type_.shape[axis];
    element /= type_.shape[axis];
  }
  if (first_.empty()) first_ = last_ = index;
  for (size_t axis = 0; axis < rank; ++axis) {
    first_[axis] = std::min(first_[axis], index[axis]);
    last_[axis] = std::max(last_[axis], index[axis]);
  }
}

}  // namespace modeld
