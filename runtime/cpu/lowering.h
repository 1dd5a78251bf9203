// Turns a program's ops into steps, one after the other. The families of ops (lower_*.cpp) use
// this class to ask for values in the layout they like and to add their steps.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cpu/copy_plan.h"
#include "runtime/cpu/plan.h"
#include "runtime/program/program.h"
#include "runtime/program/weights.h"

namespace modeld::cpu {

class Lowering {
 public:
  Lowering(const Program& program, const std::vector<std::optional<FrameBinding>>& frames,
           unsigned members);

  // Reads every constant an op or output uses, in ascending order of its place.
  Status load_constants(WeightSource& weights);
  Status lower_all();
  // Places everything; the object is spent.
  Result<Plan> finish() &&;

  // --- for the families ---

  const Program& program() const { return program_; }
  unsigned members() const { return plan_.members; }
  const TensorType& type(TensorId tensor) const { return program_.tensors[tensor].type; }
  const Shape& shape(TensorId tensor) const { return type(tensor).shape; }
  DType stored(TensorId tensor) const { return stored_dtype(type(tensor).dtype); }
  bool is_constant(TensorId tensor) const { return program_.tensors[tensor].is_constant(); }
  const Nv12Layout& frame_layout(TensorId tensor) const;

  // Bytes of a constant in C order and stored dtype.
  std::span<const std::byte> constant_bytes(TensorId tensor) const;
  std::span<const float> constant_floats(TensorId tensor) const;

  // The layout the tensor was first stored in.
  Layout layout(TensorId tensor) const;
  // The tensor as a value of this layout; adds a step that converts it, once, if need be.
  ValueId value(TensorId tensor, Layout layout);
  ValueId value(TensorId tensor) { return value(tensor, layout(tensor)); }
  const Value& info(ValueId value) const { return plan_.values[value]; }

  // The value an op's output tensor gets; call once per tensor.
  ValueId define(TensorId tensor, Layout layout);
  // Undoes define() when a step could not be made after all.
  void forget(TensorId tensor) { tensors_[tensor] = {}; }
  // Makes `tensor` another name for part of `of`, starting `offset` bytes into it.
  ValueId define_view(TensorId tensor, Layout layout, ValueId of, uint64_t offset = 0);
  // Memory that one step needs for itself.
  ValueId temporary(uint64_t bytes);
  // Memory that lives as long as the capture, filled now.
  ValueId constant(AlignedBytes bytes);

  struct StepOptions {
    bool parallel = false;
    std::vector<ValueId> in_place;
  };
  void add(std::unique_ptr<Step> step, std::string how, std::vector<ValueId> reads,
           std::vector<ValueId> writes, StepOptions options);
  void add(std::unique_ptr<Step> step, std::string how, std::vector<ValueId> reads,
           std::vector<ValueId> writes) {
    add(std::move(step), std::move(how), std::move(reads), std::move(writes), StepOptions{});
  }
  // A step that runs `plan` from one value to another.
  void add_copy(CopyPlan plan, std::string how, ValueId from, ValueId to);

  const Op& op() const { return *op_; }

 private:
  struct TensorState {
    std::optional<Layout> first;
    std::array<ValueId, 2> values{kNoValue, kNoValue};  // by Layout
  };

  Status read_constant(TensorId tensor, WeightSource& weights);
  void define_sources();
  Status lower_op();
  void write_outputs();
  void write_output(TensorId tensor, Home home, uint32_t index);
  void convert_to_external(TensorId tensor, ValueId external);
  bool rehome(ValueId value, Home home, uint32_t index);
  ValueId add_value(Value value);
  ValueId add_external(TensorId tensor, Home home, uint32_t index);
  ValueId constant_value(TensorId tensor, Layout layout);
  void place_arena();
  void drop_unused_constants();

  const Program& program_;
  const std::vector<std::optional<FrameBinding>>& frames_;
  Plan plan_;
  const Op* op_ = nullptr;
  Phase phase_ = Phase::kModel;
  std::string op_name_;
  std::vector<TensorState> tensors_;
  std::vector<AlignedBytes> raw_constants_;  // by TensorId, C order, stored dtype
  bool short_of_memory_ = false;
};

// The families. Each answers true if it lowered the current op, false to leave it to the next.
Result<bool> lower_convolution(Lowering& lowering);  // Conv, ConvTranspose
Result<bool> lower_attention(Lowering& lowering);
Result<bool> lower_product(Lowering& lowering);    // Gemm, MatMul
Result<bool> lower_integer(Lowering& lowering);    // ConvInteger, MatMulInteger
Result<bool> lower_recurrent(Lowering& lowering);  // RNN, GRU, LSTM
Result<bool> lower_quantised(Lowering& lowering);  // QuantizeLinear, DequantizeLinear
Result<bool> lower_region(Lowering& lowering);     // Pointwise
Result<bool> lower_pointwise(Lowering& lowering);
Result<bool> lower_normalisation(Lowering& lowering);
Result<bool> lower_reduction(Lowering& lowering);
Result<bool> lower_window(Lowering& lowering);  // pools, Resize
Result<bool> lower_move(Lowering& lowering);
Result<bool> lower_warp(Lowering& lowering);
// Whether the compound op is lowered as it is; else its expansion is.
bool keeps(const Program& program, const Op& op);
bool keeps_attention(const Program& program, const Op& op);
bool keeps_region(const Program& program, const Op& op);

// Any op, by the reference kernels, one thread.
Result<bool> lower_by_reference(Lowering& lowering);

}  // namespace modeld::cpu
