#include "runtime/opencl/resize_tables.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace modeld::opencl {
namespace {

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

ResizeTables resize_tables(Lowering& lowering, const reference::ResizeAxisPlan& plan) {
  ResizeTables tables;
  for (const auto& sample : plan.samples) tables.taps = std::max(tables.taps, sample.taps.size());
  std::vector<int32_t> indices;
  std::vector<float> weights;
  for (const auto& sample : plan.samples) {
    for (size_t i = 0; i < tables.taps; ++i) {
      const bool used = i < sample.taps.size();
      indices.push_back(sample.outside ? -1
                                       : static_cast<int32_t>(used ? sample.taps[i].index : 0));
      weights.push_back(used ? static_cast<float>(sample.taps[i].weight) : 0.0f);
    }
  }
  const auto extent = static_cast<int64_t>(plan.samples.size());
  const Shape shape{extent, static_cast<int64_t>(tables.taps)};
  tables.indices = lowering.constant(DType::kInt32, shape, bytes_of(indices));
  tables.weights = lowering.constant(DType::kFloat32, shape, bytes_of(weights));
  return tables;
}

}  // namespace modeld::opencl
