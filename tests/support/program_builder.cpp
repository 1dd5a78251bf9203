#include "tests/support/program_builder.h"

#include <cstring>
#include <stdexcept>

#include "runtime/base/half.h"
#include "runtime/program/infer.h"

namespace modeld::test {
namespace {

// Weights of an artifact start on such boundaries.
constexpr size_t kWeightAlignment = 256;

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

void append_as(DType dtype, std::vector<std::byte>& bytes, double value) {
  switch (dtype) {
    case DType::kFloat32:
      return append(bytes, static_cast<float>(value));
    case DType::kFloat64:
      return append(bytes, value);
    case DType::kFloat16:
      return append(bytes, float_to_half(static_cast<float>(value)));
    case DType::kBFloat16:
      return append(bytes, float_to_bfloat(static_cast<float>(value)));
    case DType::kInt8:
      return append(bytes, static_cast<int8_t>(value));
    case DType::kUInt8:
      return append(bytes, static_cast<uint8_t>(value));
    case DType::kInt16:
      return append(bytes, static_cast<int16_t>(value));
    case DType::kUInt16:
      return append(bytes, static_cast<uint16_t>(value));
    case DType::kInt32:
      return append(bytes, static_cast<int32_t>(value));
    case DType::kUInt32:
      return append(bytes, static_cast<uint32_t>(value));
    case DType::kInt64:
      return append(bytes, static_cast<int64_t>(value));
    case DType::kUInt64:
      return append(bytes, static_cast<uint64_t>(value));
    case DType::kBool:
      return append(bytes, static_cast<uint8_t>(value != 0 ? 1 : 0));
    case DType::kNv12:
      throw std::runtime_error("a frame has no elements");
  }
}

template <typename T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

double read_as(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(read<float>(bytes));
    case DType::kFloat64:
      return read<double>(bytes);
    case DType::kFloat16:
      return static_cast<double>(half_to_float(read<uint16_t>(bytes)));
    case DType::kBFloat16:
      return static_cast<double>(bfloat_to_float(read<uint16_t>(bytes)));
    case DType::kInt8:
      return read<int8_t>(bytes);
    case DType::kInt16:
      return read<int16_t>(bytes);
    case DType::kUInt16:
      return read<uint16_t>(bytes);
    case DType::kInt32:
      return read<int32_t>(bytes);
    case DType::kUInt32:
      return read<uint32_t>(bytes);
    case DType::kInt64:
      return static_cast<double>(read<int64_t>(bytes));
    case DType::kUInt64:
      return static_cast<double>(read<uint64_t>(bytes));
    default:
      return read<uint8_t>(bytes);
  }
}

}  // namespace

std::vector<std::byte> to_bytes(DType dtype, std::span<const double> values) {
  std::vector<std::byte> bytes;
  for (const double value : values) append_as(dtype, bytes, value);
  return bytes;
}

std::vector<double> to_doubles(DType dtype, std::span<const std::byte> bytes) {
  std::vector<double> values;
  for (size_t at = 0; at + size_of(dtype) <= bytes.size(); at += size_of(dtype)) {
    values.push_back(read_as(dtype, bytes.subspan(at)));
  }
  return values;
}

HostTensor make_tensor(DType dtype, Shape shape, std::span<const double> values) {
  HostTensor tensor{{dtype, std::move(shape)}, to_bytes(dtype, values)};
  if (tensor.bytes.size() != tensor.type.bytes()) {
    throw std::runtime_error("other number of values than " + to_string(tensor.type));
  }
  return tensor;
}

TensorId ProgramBuilder::add(std::string name, TensorType type) {
  program_.tensors.push_back({std::move(name), std::move(type), std::nullopt});
  return static_cast<TensorId>(program_.tensors.size() - 1);
}

WeightRef ProgramBuilder::store(std::span<const std::byte> bytes) {
  weights_.resize((weights_.size() + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment);
  const WeightRef place{weights_.size(), bytes.size()};
  weights_.insert(weights_.end(), bytes.begin(), bytes.end());
  return place;
}

TensorId ProgramBuilder::input(std::string name, TensorType type) {
  program_.inputs.push_back(add(std::move(name), std::move(type)));
  return program_.inputs.back();
}

TensorId ProgramBuilder::frame(std::string name) {
  return input(std::move(name), {DType::kNv12, {}});
}

TensorId ProgramBuilder::constant(TensorType type, std::span<const std::byte> bytes) {
  const TensorId id = add("c" + std::to_string(program_.tensors.size()), std::move(type));
  program_.tensors[id].weight = store(bytes);
  return id;
}

TensorId ProgramBuilder::constant(DType dtype, Shape shape, std::initializer_list<double> values) {
  return constant(make_tensor(dtype, std::move(shape), values));
}

TensorId ProgramBuilder::state(std::string name, TensorType type,
                               std::span<const std::byte> initial) {
  StateBinding binding;
  binding.current = add(std::move(name), std::move(type));
  if (!initial.empty()) binding.initial = store(initial);
  program_.states.push_back(binding);
  return binding.current;
}

std::vector<TensorId> ProgramBuilder::ops(OpKind kind, std::vector<TensorId> inputs,
                                          Attributes::Map attributes, Phase phase) {
  Op op;
  op.kind = kind;
  op.name = std::string(to_string(kind)) + "_" + std::to_string(program_.ops.size());
  op.phase = phase;
  for (auto& [name, value] : attributes) op.attributes.set(name, std::move(value));
  std::vector<const TensorType*> types;
  for (const TensorId id : inputs) types.push_back(id == kNoTensor ? nullptr : &type(id));
  const auto inferred = infer_types(kind, op.attributes, types);
  if (!inferred.ok()) throw std::runtime_error(to_string(inferred.error()));
  op.inputs = std::move(inputs);
  for (const TensorType& output : *inferred) {
    op.outputs.push_back(add("t" + std::to_string(program_.tensors.size()), output));
  }
  program_.ops.push_back(op);
  return op.outputs;
}

void ProgramBuilder::output(TensorId id, std::string name) {
  program_.tensors.at(id).name = std::move(name);
  program_.outputs.push_back(id);
}

void ProgramBuilder::feed_back(TensorId current, TensorId next) {
  for (StateBinding& state : program_.states) {
    if (state.current == current) state.next = next;
  }
}

}  // namespace modeld::test
