#include "tools/compile/constant.h"

#include <cstring>
#include <type_traits>

#include "runtime/base/half.h"

namespace modeld::compile {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

double widen(Half value) {
  return half_to_float(value.bits);
}
double widen(BFloat value) {
  return bfloat_to_float(value.bits);
}
template <typename T>
double widen(T value) {
  return static_cast<double>(value);
}

template <typename T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {float_to_half(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return {float_to_bfloat(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
struct Type {
  using type = T;
};

// Calls `use(Type<T>())` with the C++ type of the elements. nv12 has no elements; it cannot be a
// constant.
template <typename Use>
void with_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::kFloat32:
      return use(Type<float>());
    case DType::kFloat64:
      return use(Type<double>());
    case DType::kFloat16:
      return use(Type<Half>());
    case DType::kBFloat16:
      return use(Type<BFloat>());
    case DType::kInt8:
      return use(Type<int8_t>());
    case DType::kUInt8:
      return use(Type<uint8_t>());
    case DType::kInt16:
      return use(Type<int16_t>());
    case DType::kUInt16:
      return use(Type<uint16_t>());
    case DType::kInt32:
      return use(Type<int32_t>());
    case DType::kUInt32:
      return use(Type<uint32_t>());
    case DType::kInt64:
      return use(Type<int64_t>());
    case DType::kUInt64:
      return use(Type<uint64_t>());
    case DType::kBool:
      return use(Type<bool>());
    case DType::kNv12:
      return;
  }
}

template <typename T>
T load(const std::byte* bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

std::vector<double> to_doubles(const HostTensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.type.elements()));
  with_type(tensor.type.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t i = 0; i < values.size(); ++i) values[i] = widen(load<T>(tensor.bytes.data(), i));
  });
  return values;
}

std::optional<std::vector<int64_t>> to_ints(const HostTensor& tensor) {
  if (is_float(tensor.type.dtype) || tensor.type.dtype == DType::kNv12) return std::nullopt;
  std::vector<int64_t> values(static_cast<size_t>(tensor.type.elements()));
  bool fits = true;
  with_type(tensor.type.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      for (size_t i = 0; i < values.size(); ++i) {
        const T value = load<T>(tensor.bytes.data(), i);
        values[i] = static_cast<int64_t>(value);
        if (std::is_same_v<T, uint64_t> && values[i] < 0) fits = false;
      }
    }
  });
  if (!fits) return std::nullopt;
  return values;
}

HostTensor from_doubles(TensorType type, std::span<const double> values) {
  HostTensor tensor;
  tensor.type = std::move(type);
  tensor.bytes.resize(tensor.type.bytes());
  with_type(tensor.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = narrow<T>(values[i]);
      std::memcpy(tensor.bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return tensor;
}

HostTensor from_ints(std::span<const int64_t> values) {
  HostTensor tensor;
  tensor.type = {DType::kInt64, {static_cast<int64_t>(values.size())}};
  tensor.bytes.resize(values.size_bytes());
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), values.size_bytes());
  return tensor;
}

std::optional<double> uniform_value(const HostTensor& tensor) {
  const std::vector<double> values = to_doubles(tensor);
  if (values.empty()) return std::nullopt;
  for (const double value : values) {
    if (value != values[0]) return std::nullopt;
  }
  return values[0];
}

}  // namespace modeld::compile
