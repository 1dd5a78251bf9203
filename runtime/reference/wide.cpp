#include "runtime/reference/wide.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/base/half.h"

namespace modeld::reference {
namespace {

// Storage of the types that have no C++ arithmetic type of their own.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

template <typename T>
T take(const std::byte* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void put(std::byte* to, size_t index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

// Calls `visit` with a value of the storage type of `type`.
template <typename Visit>
void with_storage(DType type, Visit visit) {
  switch (type) {
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kFloat16:
      return visit(Half{});
    case DType::kBFloat16:
      return visit(BFloat{});
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kUInt8:
      return visit(uint8_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kUInt16:
      return visit(uint16_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kUInt32:
      return visit(uint32_t{});
    case DType::kInt64:
      return visit(int64_t{});
    case DType::kUInt64:
      return visit(uint64_t{});
    case DType::kBool:
      return visit(Bool{});
    case DType::kNv12:
      return;
  }
}

template <typename Wide, typename T>
Wide widen(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<Wide>(half_to_float(value.bits));
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return static_cast<Wide>(bfloat_to_float(value.bits));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<Wide>(value.byte != 0 ? 1 : 0);
  } else {
    return static_cast<Wide>(value);
  }
}

template <typename T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  // 2^digits is exact in double, unlike the largest value of a 64-bit type.
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (value >= above) return std::numeric_limits<T>::max();
  const double least = std::is_signed_v<T> ? -above : 0.0;
  if (value <= least) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <typename T, typename Wide>
T narrow(Wide value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {double_to_half(static_cast<double>(value))};
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return {double_to_bfloat(static_cast<double>(value))};
  } else if constexpr (std::is_same_v<T, Bool>) {
    return {static_cast<uint8_t>(value != 0 ? 1 : 0)};
  } else if constexpr (std::is_same_v<Wide, double> && std::is_integral_v<T>) {
    return saturate<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename Wide>
void load_as(DType type, const std::byte* from, Wide* to, size_t count) {
  with_storage(type, [&](auto storage) {
    using T = decltype(storage);
    for (size_t i = 0; i < count; ++i) to[i] = widen<Wide>(take<T>(from, i));
  });
}

template <typename Wide>
void store_as(DType type, const Wide* from, std::byte* to, size_t count) {
  with_storage(type, [&](auto storage) {
    using T = decltype(storage);
    for (size_t i = 0; i < count; ++i) put<T>(to, i, narrow<T>(from[i]));
  });
}

// To float, rounding to odd: the last bit says "not exact", so that a second rounding to a much
// shorter format ends where a single one would (Boldo, Melquiond 2008).
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace

Domain domain_of(DType type) {
  if (is_float(type)) return Domain::kReal;
  const bool is_signed = type == DType::kInt8 || type == DType::kInt16 || type == DType::kInt32 ||
                         type == DType::kInt64;
  return is_signed ? Domain::kSigned : Domain::kUnsigned;
}

void load(DType type, const std::byte* from, double* to, size_t count) {
  load_as(type, from, to, count);
}
void load(DType type, const std::byte* from, int64_t* to, size_t count) {
  load_as(type, from, to, count);
}
void load(DType type, const std::byte* from, uint64_t* to, size_t count) {
  load_as(type, from, to, count);
}
void store(DType type, const double* from, std::byte* to, size_t count) {
  store_as(type, from, to, count);
}
void store(DType type, const int64_t* from, std::byte* to, size_t count) {
  store_as(type, from, to, count);
}
void store(DType type, const uint64_t* from, std::byte* to, size_t count) {
  store_as(type, from, to, count);
}

uint16_t double_to_half(double value) {
  return float_to_half(round_to_odd(value));
}
uint16_t double_to_bfloat(double value) {
  return float_to_bfloat(round_to_odd(value));
}

}  // namespace modeld::reference
