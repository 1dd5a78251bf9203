#include "runtime/program/tensor.h"

#include "runtime/base/checked.h"

namespace modeld {

int64_t TensorType::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

std::optional<int64_t> checked_elements(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    const auto next = checked_mul(product, extent);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ",";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(to_string(type.dtype)) + to_string(type.shape);
}

}  // namespace modeld
