// Small programs for tests: tensors and ops added one after the other, types inferred.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "runtime/program/program.h"
#include "runtime/program/weights.h"
#include "runtime/reference/host_tensor.h"

namespace modeld::test {

// Bytes of `values` converted to `dtype` (f16 and bf16 rounded from float; bool: 0 or 1).
std::vector<std::byte> to_bytes(DType dtype, std::span<const double> values);
// The way back, exact for all but 64-bit integers beyond 2^53.
std::vector<double> to_doubles(DType dtype, std::span<const std::byte> bytes);

HostTensor make_tensor(DType dtype, Shape shape, std::span<const double> values);
inline HostTensor make_tensor(DType dtype, Shape shape, std::initializer_list<double> values) {
  return make_tensor(dtype, std::move(shape), std::span(values.begin(), values.size()));
}

// Throws std::runtime_error (which fails the test) when an op is refused.
class ProgramBuilder {
 public:
  TensorId input(std::string name, TensorType type);
  TensorId frame(std::string name);  // an nv12 input
  TensorId constant(TensorType type, std::span<const std::byte> bytes);
  TensorId constant(DType dtype, Shape shape, std::initializer_list<double> values);
  TensorId constant(const HostTensor& value) { return constant(value.type, value.bytes); }
  // A state that starts from zeros, or from `initial`.
  TensorId state(std::string name, TensorType type, std::span<const std::byte> initial = {});

  // Adds an op and answers its outputs; their names are made up ("t7") unless output_named().
  std::vector<TensorId> ops(OpKind kind, std::vector<TensorId> inputs,
                            Attributes::Map attributes = {}, Phase phase = Phase::kModel);
  // The same for ops of one output.
  TensorId op(OpKind kind, std::vector<TensorId> inputs, Attributes::Map attributes = {},
              Phase phase = Phase::kModel) {
    return ops(kind, std::move(inputs), std::move(attributes), phase).at(0);
  }

  void output(TensorId id, std::string name);
  // `next` becomes `current` of the next frame on commit.
  void feed_back(TensorId current, TensorId next);

  const Program& program() const { return program_; }
  Program& program() { return program_; }
  const TensorType& type(TensorId id) const { return program_.tensors.at(id).type; }
  // A fresh source of all weights so far.
  MemoryWeights weights() const { return MemoryWeights(weights_); }
  uint64_t weights_bytes() const { return weights_.size(); }

 private:
  TensorId add(std::string name, TensorType type);
  WeightRef store(std::span<const std::byte> bytes);

  Program program_;
  std::vector<std::byte> weights_;
};

}  // namespace modeld::test
