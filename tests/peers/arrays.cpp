#include "tests/peers/arrays.h"

#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>

#include "runtime/base/half.h"
#include "runtime/program/seeded_inputs.h"

namespace modeld::test {
namespace {

NpyType npy_type(int element) {
  switch (element) {
    case onnx::TensorProto::FLOAT:
      return NpyType::kF4;
    case onnx::TensorProto::FLOAT16:
      return NpyType::kF2;
    case onnx::TensorProto::UINT8:
      return NpyType::kU1;
    case onnx::TensorProto::INT64:
      return NpyType::kI8;
    default:
      throw std::runtime_error("graph input of element type " + std::to_string(element));
  }
}

DType dtype(NpyType type) {
  switch (type) {
    case NpyType::kF4:
      return DType::kFloat32;
    case NpyType::kF2:
      return DType::kFloat16;
    case NpyType::kU1:
      return DType::kUInt8;
    case NpyType::kI8:
      return DType::kInt64;
    default:
      throw std::runtime_error("no seeded values of type " + std::string(to_string(type)));
  }
}

template <typename T, typename Convert>
std::vector<double> converted(const NpyArray& array, Convert convert) {
  std::vector<double> values;
  values.reserve(array.bytes.size() / sizeof(T));
  for (size_t at = 0; at + sizeof(T) <= array.bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, array.bytes.data() + at, sizeof(T));
    values.push_back(static_cast<double>(convert(value)));
  }
  return values;
}

}  // namespace

std::vector<GraphInput> graph_inputs(const std::filesystem::path& model) {
  onnx::ModelProto proto;
  std::ifstream file(model, std::ios::binary);
  if (!proto.ParseFromIstream(&file)) throw std::runtime_error("cannot parse " + model.string());
  std::set<std::string> provided;
  for (const auto& tensor : proto.graph().initializer()) provided.insert(tensor.name());
  std::vector<GraphInput> inputs;
  for (const auto& value : proto.graph().input()) {
    if (provided.contains(value.name())) continue;
    const auto& tensor = value.type().tensor_type();
    auto& input = inputs.emplace_back(GraphInput{value.name(), npy_type(tensor.elem_type()), {}});
    for (const auto& dim : tensor.shape().dim()) {
      input.shape.push_back(dim.dim_value() > 0 ? static_cast<uint64_t>(dim.dim_value()) : 1);
    }
  }
  return inputs;
}

NpyArray zeros(const GraphInput& input) {
  NpyArray array{input.type, input.shape, {}};
  array.bytes.resize(npy_element_count(input.shape).value() * npy_type_size(input.type));
  return array;
}

NamedArrays seeded_arrays(const std::vector<GraphInput>& inputs, uint64_t seed) {
  NamedArrays arrays;
  uint32_t stream = 0;
  for (const GraphInput& input : inputs) {
    NpyArray array = zeros(input);
    fill_seeded(array.bytes, dtype(input.type), seed, stream++, 0);
    arrays.emplace(input.name, std::move(array));
  }
  return arrays;
}

NpyArray halves(std::vector<uint64_t> shape, const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(float_to_half(value));
  return array_of(NpyType::kF2, std::move(shape), bits);
}

std::vector<double> numbers(const NpyArray& array) {
  const auto as_is = [](auto value) { return value; };
  switch (array.type) {
    case NpyType::kF2:
      return converted<uint16_t>(array, [](uint16_t bits) { return half_to_float(bits); });
    case NpyType::kF4:
      return converted<float>(array, as_is);
    case NpyType::kF8:
      return converted<double>(array, as_is);
    case NpyType::kU1:
    case NpyType::kB1:
      return converted<uint8_t>(array, as_is);
    case NpyType::kI8:
      return converted<int64_t>(array, as_is);
    default:
      throw std::runtime_error("no numbers of type " + std::string(to_string(array.type)));
  }
}

double largest_difference(const std::vector<double>& expected, const std::vector<double>& found) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (expected.size() != found.size()) return kInfinity;
  double largest = 0;
  double scale = 1;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) != std::isnan(found[i])) return kInfinity;
    if (std::isnan(expected[i]) || expected[i] == found[i]) continue;
    largest = std::max(largest, std::abs(expected[i] - found[i]));
    scale = std::max(scale, std::abs(expected[i]));
  }
  return largest / scale;
}

}  // namespace modeld::test
