// Integer arithmetic on sizes that come from files and peers: overflow is an answer, not a wrap.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace modeld {

template <std::integral T>
std::optional<T> checked_add(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
std::optional<T> checked_mul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// True if [offset, offset + length) lies inside [0, size); never wraps.
constexpr bool range_fits(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

// `value` rounded up to a multiple of `alignment` (> 0); nothing if that overflows.
inline std::optional<uint64_t> checked_align_up(uint64_t value, uint64_t alignment) {
  const uint64_t rest = value % alignment;
  if (rest == 0) return value;
  return checked_add<uint64_t>(value, alignment - rest);
}

// For values known to be small (our own sizes).
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace modeld
