// Tensors of a program: static shape, C order, densely packed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program/dtype.h"

namespace modeld {

using Shape = std::vector<int64_t>;

struct TensorType {
  DType dtype = DType::kFloat32;
  Shape shape;

  bool operator==(const TensorType&) const = default;
  // Product of the extents (1 for a scalar). Only for verified types: verify() bounds it.
  int64_t elements() const;
  uint64_t bytes() const { return static_cast<uint64_t>(elements()) * size_of(dtype); }
};

// "f32[1,12,128,256]"
std::string to_string(const TensorType& type);
std::string to_string(const Shape& shape);

// The product of extents if every extent is >= 0 and the product fits; nothing otherwise.
std::optional<int64_t> checked_elements(const Shape& shape);

using TensorId = uint32_t;
// In Op::inputs: an optional input that is left out.
constexpr TensorId kNoTensor = std::numeric_limits<TensorId>::max();

// A place in the weights section of an artifact (bytes).
struct WeightRef {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const WeightRef&) const = default;
};

struct Tensor {
  std::string name;  // unique in a program
  TensorType type;
  std::optional<WeightRef> weight;  // set for constants only

  bool is_constant() const { return weight.has_value(); }
};

}  // namespace modeld
