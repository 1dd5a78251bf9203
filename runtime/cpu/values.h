// What a program's tensors become in this backend: values with a layout and a place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/program/tensor.h"

namespace modeld::cpu {

// How the elements of a tensor of rank r follow each other.
enum class Layout : uint8_t {
  kPlain,         // C order
  kChannelsLast,  // axis 1 innermost: 0, 2, .., r-1, 1. Rank 3 and above only.
};

// The logical axis at each storage position.
inline std::vector<size_t> storage_order(size_t rank, Layout layout) {
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (layout == Layout::kChannelsLast) {
    for (size_t i = 1; i + 1 < rank; ++i) order[i] = i + 1;
    order[rank - 1] = 1;
  }
  return order;
}

// Elements between neighbours, by logical axis.
inline std::vector<int64_t> strides_of(const Shape& shape, Layout layout) {
  std::vector<int64_t> strides(shape.size());
  const std::vector<size_t> order = storage_order(shape.size(), layout);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

// True if both layouts put this shape's elements in the same order.
inline bool layouts_agree(const Shape& shape, Layout a, Layout b) {
  if (a == b || shape.size() < 3) return true;
  int64_t spatial = 1;
  for (size_t i = 2; i < shape.size(); ++i) spatial *= shape[i];
  return spatial <= 1 || shape[1] <= 1;
}

// Half types are stored as float32 (policy: half storage in the artifact, float32 compute).
inline DType stored_dtype(DType type) {
  return type == DType::kFloat16 || type == DType::kBFloat16 ? DType::kFloat32 : type;
}

using ValueId = uint32_t;
constexpr ValueId kNoValue = std::numeric_limits<ValueId>::max();

enum class Home : uint8_t {
  kArena,         // planned; alive between its first writer and its last reader
  kConstant,      // written when recording
  kInput,         // `index`: which program input
  kOutput,        // `index`: which program output
  kStateCurrent,  // `index`: which state
  kStateNext,
};

struct Value {
  DType dtype = DType::kFloat32;
  Layout layout = Layout::kPlain;
  Shape shape;  // logical
  uint64_t bytes = 0;
  Home home = Home::kArena;
  uint32_t index = 0;
  // A view lies `offset` bytes into `root`, which is no view itself; else root is its own id.
  ValueId root = kNoValue;
  uint64_t offset = 0;
};

}  // namespace modeld::cpu
