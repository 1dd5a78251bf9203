#include "tools/modelctl/npy_tensor.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/half.h"

namespace modeld::modelctl {
namespace {

NpyType npy_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kBFloat16:
      return NpyType::kF4;
    case DType::kFloat64:
      return NpyType::kF8;
    case DType::kFloat16:
      return NpyType::kF2;
    case DType::kInt8:
      return NpyType::kI1;
    case DType::kUInt8:
    case DType::kNv12:
      return NpyType::kU1;
    case DType::kInt16:
      return NpyType::kI2;
    case DType::kUInt16:
      return NpyType::kU2;
    case DType::kInt32:
      return NpyType::kI4;
    case DType::kUInt32:
      return NpyType::kU4;
    case DType::kInt64:
      return NpyType::kI8;
    case DType::kUInt64:
      return NpyType::kU8;
    case DType::kBool:
      return NpyType::kB1;
  }
  return NpyType::kU1;
}

std::vector<uint64_t> npy_shape(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

std::vector<std::byte> round_to_bfloat(std::span<const std::byte> floats) {
  std::vector<std::byte> rounded(floats.size() / 2);
  for (size_t i = 0; i < floats.size() / sizeof(float); ++i) {
    float value;
    std::memcpy(&value, floats.data() + i * sizeof value, sizeof value);
    const uint16_t bits = float_to_bfloat(value);
    std::memcpy(rounded.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return rounded;
}

std::vector<std::byte> widen_bfloat(std::span<const std::byte> bfloats) {
  std::vector<std::byte> floats(bfloats.size() * 2);
  for (size_t i = 0; i < bfloats.size() / sizeof(uint16_t); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bfloats.data() + i * sizeof bits, sizeof bits);
    const float value = bfloat_to_float(bits);
    std::memcpy(floats.data() + i * sizeof value, &value, sizeof value);
  }
  return floats;
}

}  // namespace

std::string describe(const NpyArray& array) {
  std::string text(to_string(array.type));
  text += "[";
  for (size_t i = 0; i < array.shape.size(); ++i) {
    if (i > 0) text += ",";
    text += std::to_string(array.shape[i]);
  }
  return text + "]";
}

Result<std::vector<std::byte>> tensor_from_npy(NpyArray array, const TensorType& type) {
  if (array.type != npy_type_of(type.dtype) || array.shape != npy_shape(type.shape)) {
    return Error(ErrorCode::kInvalidArgument, "array does not fit")
        .expecting(to_string(type), describe(array));
  }
  if (type.dtype == DType::kBFloat16) return round_to_bfloat(array.bytes);
  return std::move(array.bytes);
}

NpyArray tensor_to_npy(std::span<const std::byte> bytes, const TensorType& type) {
  NpyArray array;
  array.type = npy_type_of(type.dtype);
  array.shape = npy_shape(type.shape);
  if (type.dtype == DType::kBFloat16) {
    array.bytes = widen_bfloat(bytes);
  } else {
    array.bytes.assign(bytes.begin(), bytes.end());
  }
  return array;
}

}  // namespace modeld::modelctl
