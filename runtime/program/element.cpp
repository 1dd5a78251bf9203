#include "runtime/program/element.h"

#include <cassert>
#include <cmath>
#include <cstring>

#include "runtime/base/half.h"

namespace modeld {
namespace {

template <typename T>
T load(std::span<const std::byte> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

double element_at(std::span<const std::byte> bytes, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::kFloat32:
      return load<float>(bytes, index);
    case DType::kFloat64:
      return load<double>(bytes, index);
    case DType::kFloat16:
      return half_to_float(load<uint16_t>(bytes, index));
    case DType::kBFloat16:
      return bfloat_to_float(load<uint16_t>(bytes, index));
    case DType::kInt8:
      return load<int8_t>(bytes, index);
    case DType::kUInt8:
    case DType::kBool:
      return load<uint8_t>(bytes, index);
    case DType::kInt16:
      return load<int16_t>(bytes, index);
    case DType::kUInt16:
      return load<uint16_t>(bytes, index);
    case DType::kInt32:
      return load<int32_t>(bytes, index);
    case DType::kUInt32:
      return load<uint32_t>(bytes, index);
    case DType::kInt64:
      return static_cast<double>(load<int64_t>(bytes, index));
    case DType::kUInt64:
      return static_cast<double>(load<uint64_t>(bytes, index));
    case DType::kNv12:
      break;
  }
  assert(false && "a camera frame has no elements");
  return std::nan("");
}

}  // namespace modeld
