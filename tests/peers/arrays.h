// Arrays going into and coming out of networks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/peers/ort_peer.h"

namespace modeld::test {

struct GraphInput {
  std::string name;
  NpyType type = NpyType::kF4;
  std::vector<uint64_t> shape;  // a symbolic dimension counts as 1
};

// The inputs of an ONNX file that no initializer provides. Throws on anything else.
std::vector<GraphInput> graph_inputs(const std::filesystem::path& model);

// By fill_seeded(), `stream` being the position in `inputs`.
NamedArrays seeded_arrays(const std::vector<GraphInput>& inputs, uint64_t seed);

NpyArray zeros(const GraphInput& input);

template <typename T>
NpyArray array_of(NpyType type, std::vector<uint64_t> shape, const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  return {type, std::move(shape), {first, first + values.size() * sizeof(T)}};
}
NpyArray halves(std::vector<uint64_t> shape, const std::vector<float>& values);

// Elements as numbers, whatever they are stored as.
std::vector<double> numbers(const NpyArray& array);

// Largest absolute difference relative to the larger of 1 and the largest magnitude of `expected`.
// Infinite if lengths differ or a NaN stands against a number.
double largest_difference(const std::vector<double>& expected, const std::vector<double>& found);

}  // namespace modeld::test
