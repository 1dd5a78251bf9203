#include "runtime/program/weights.h"

#include <algorithm>
#include <string>

#include "runtime/base/checked.h"

namespace modeld {

Status MemoryWeights::read(uint64_t offset, std::span<std::byte> out) {
  if (!range_fits(offset, out.size(), bytes_.size())) {
    return Error(ErrorCode::kCorrupt, "weights out of range")
        .expecting("at most " + std::to_string(bytes_.size()) + " bytes",
                   std::to_string(out.size()) + " bytes at offset " + std::to_string(offset));
  }
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  return {};
}

}  // namespace modeld
