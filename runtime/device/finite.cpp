#include "runtime/device/finite.h"

#include <algorithm>
#include <cstring>

namespace modeld {
namespace {

// All exponent bits set: infinity or NaN. Counted in blocks without a branch, so that the loop is
// one of vectors.
template <typename Bits, Bits kExponent>
uint32_t count(std::span<const std::byte> bytes) {
  constexpr size_t kBlock = 1024;
  const size_t elements = bytes.size() / sizeof(Bits);
  uint64_t total = 0;
  for (size_t at = 0; at < elements; at += kBlock) {
    Bits block[kBlock];
    const size_t length = std::min(kBlock, elements - at);
    std::memcpy(block, bytes.data() + at * sizeof(Bits), length * sizeof(Bits));
    Bits found = 0;
    for (size_t i = 0; i < length; ++i) found += (block[i] & kExponent) == kExponent ? 1 : 0;
    total += found;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(total, UINT32_MAX));
}

}  // namespace

uint32_t count_not_finite(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::kFloat32:
      return count<uint32_t, 0x7f800000u>(bytes);
    case DType::kFloat64:
      return count<uint64_t, 0x7ff0000000000000u>(bytes);
    case DType::kFloat16:
      return count<uint16_t, 0x7c00u>(bytes);
    case DType::kBFloat16:
      return count<uint16_t, 0x7f80u>(bytes);
    default:
      return 0;
  }
}

}  // namespace modeld
