// The building blocks of type inference, shared by its files; others use infer.h.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/op.h"

namespace modeld::infer {

// Extents and counts in attributes stay below this, so that the product of two never wraps int64.
constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;

using Types = std::vector<TensorType>;

// One op whose number of inputs and attributes already match its schema.
struct Call {
  OpKind kind;
  const Attributes& attributes;
  std::span<const TensorType* const> inputs;

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  const TensorType& in(size_t index) const { return *inputs[index]; }
  const Shape& shape(size_t index) const { return inputs[index]->shape; }
  int64_t rank(size_t index) const { return static_cast<int64_t>(shape(index).size()); }
};

// "Conv: attribute pads (expected .., found ..)".
Error wrong(const Call& call, std::string what, std::string want, std::string have);

// Sets of element types.
bool is_numeric(DType type);  // everything but bool and nv12
bool is_signed(DType type);   // floats and signed integers

Status need_float(const Call& call, size_t input);
Status need_numeric(const Call& call, size_t input);
Status need_bool(const Call& call, size_t input);
// Every given input has the element type of input 0.
Status need_one_dtype(const Call& call);
Status need_rank(const Call& call, size_t input, int64_t rank);
Status need_rank_at_least(const Call& call, size_t input, int64_t rank);
Status need_shape(const Call& call, size_t input, const Shape& shape);

// Attributes, with their range checked.
Result<int64_t> axis_of(const Call& call, int64_t rank);
Result<bool> flag_of(const Call& call, std::string_view name);
Result<int64_t> int_of(const Call& call, std::string_view name, int64_t least, int64_t most);
// `count` integers, each in [least, kMaxExtent].
Result<std::vector<int64_t>> ints_of(const Call& call, std::string_view name, size_t count,
                                     int64_t least);
Status need_finite(const Call& call, std::string_view name, double least);
Status need_one_of(const Call& call, std::string_view name,
                   std::initializer_list<std::string_view> values);

// `activation` with the parameters it needs, and without those it does not.
Status check_activation(const Call& call);

// The multidirectional broadcast of all given inputs' shapes.
Result<Shape> broadcast_all(const Call& call, size_t first_input = 0);
// True if `from` broadcasts to exactly `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

// Each family's rules; the kind decides.
Result<Types> infer_unary(const Call& call);
Result<Types> infer_binary(const Call& call);
Result<Types> infer_matrix(const Call& call);
Result<Types> infer_normalisation(const Call& call);
Result<Types> infer_reduction(const Call& call);
Result<Types> infer_window(const Call& call);
Result<Types> infer_resize(const Call& call);
Result<Types> infer_warp(const Call& call);
Result<Types> infer_recurrent(const Call& call);
Result<Types> infer_quantisation(const Call& call);
Result<Types> infer_index(const Call& call);
Result<Types> infer_data(const Call& call);

}  // namespace modeld::infer
