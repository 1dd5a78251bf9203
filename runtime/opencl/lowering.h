// Turns a program's ops into launches of generated kernels, one after the other. The families of
// ops (lower_*.cpp) use this class to ask for views of their inputs and to add their launches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/device/capture.h"
#include "runtime/opencl/kernel_text.h"
#include "runtime/opencl/traits.h"
#include "runtime/opencl/tuning.h"
#include "runtime/opencl/values.h"
#include "runtime/program/program.h"
#include "runtime/program/weights.h"

namespace modeld::opencl {

// Bytes of a constant, by root, still to be written to the device.
struct ConstantBytes {
  RootId root = kNoRoot;
  std::vector<std::byte> bytes;
};

// What recording makes of a program.
struct Plan {
  std::vector<Launch> launches;
  std::vector<Root> roots;
  std::vector<ConstantBytes> constants;
  uint64_t arena_bytes = 0;
  uint64_t upload_bytes = 0;
  uint64_t download_bytes = 0;
  bool uses_flags = false;
  std::vector<RootId> inputs;   // by program input
  std::vector<RootId> outputs;  // by program output: at Root::offset in the packed download
  std::vector<RootId> current;  // by state
  std::vector<RootId> next;     // by state: what commit copies into `current`
};

class Lowering {
 public:
  Lowering(const Program& program, const std::vector<std::optional<FrameBinding>>& frames,
           const Traits& traits, const Tuning& tuning, uint64_t alignment);

  // Reads every constant an op or output uses, in ascending order of its place.
  Status load_constants(WeightSource& weights);
  Status lower_all();
  // Places everything; the object is spent.
  Plan finish() &&;

  // --- for the families ---

  // The device's, in the shape that is best for the op at hand.
  const Traits& traits() const { return traits_; }
  const Op& op() const { return *op_; }
  const TensorType& type(TensorId tensor) const { return program_.tensors[tensor].type; }
  const Shape& shape(TensorId tensor) const { return type(tensor).shape; }
  DType dtype(TensorId tensor) const { return type(tensor).dtype; }
  bool is_constant(TensorId tensor) const { return program_.tensors[tensor].is_constant(); }
  // Elements of a constant as numbers (floats of any width, C order).
  std::vector<float> constant_floats(TensorId tensor) const;
  const Nv12Layout& frame_layout(TensorId tensor) const;

  // The tensor as it lies; computes it first if its op was put off.
  View view(TensorId tensor);
  // The tensor without gaps in the order of `layout`; copied, once, if need be.
  View dense(TensorId tensor, Layout layout);
  // The layout in which the tensor is cheapest to have.
  Layout layout_of(TensorId tensor);

  // New memory for an op's output. How wide 16-bit floats are stored is the traits' choice.
  View define(TensorId tensor, Layout layout);
  // Makes the tensor a view of memory there is.
  void define_view(TensorId tensor, View view) { tensors_[tensor].view = std::move(view); }
  // Memory one op needs between its launches.
  View temporary(DType dtype, Shape shape);
  // Memory that lives as long as the capture, filled when recording ends.
  View constant(DType dtype, Shape shape, std::vector<std::byte> bytes);
  View constant(const std::vector<float>& values);
  RootId flags();

  // Puts the op off: its consumer may compute it in its own kernel. Only for ops lower_pointwise
  // knows, used once.
  void put_off(TensorId output, const Op& op, size_t cost);
  // The op that was put off for this tensor, or null.
  const Op* pending(TensorId tensor) const { return tensors_[tensor].pending; }
  size_t pending_cost(TensorId tensor) const { return tensors_[tensor].cost; }
  size_t uses(TensorId tensor) const { return uses_[tensor]; }

  void add(Launch launch, std::string how);
  // Copies elements between views of one shape, converting between storage types.
  void add_copy(const View& from, const View& to, std::string how);
  // Computes a pending tensor, or copies any other, into memory there is.
  void compute_into(TensorId tensor, const View& to);

 private:
  struct TensorState {
    std::optional<View> view;
    const Op* pending = nullptr;
    size_t cost = 0;
    std::optional<View> dense[2];  // copies made, by Layout
  };

  Status read_constant(TensorId tensor, WeightSource& weights);
  void define_sources();
  void begin(const Op& op);
  Status lower_op();
  void compute_pending(TensorId tensor, const View& to);
  RootId add_root(Home home, uint64_t bytes, uint32_t index = 0);
  void write_outputs();
  RootId keep(TensorId tensor, Home home);
  void check_finite(TensorId tensor, RootId root);
  void count_uses();
  void place_arena();
  void place_block(Home home, uint64_t& bytes);
  void drop_unused_constants();

  const Program& program_;
  const std::vector<std::optional<FrameBinding>>& frames_;
  const Traits defaults_;
  const Tuning& tuning_;
  Traits traits_;  // of the op at hand
  const uint64_t alignment_;
  Plan plan_;
  const Op* op_ = nullptr;
  Phase phase_ = Phase::kModel;
  std::string op_name_;
  std::string signature_;
  bool tuned_ = false;
  std::vector<TensorState> tensors_;
  std::vector<size_t> uses_;
  std::map<TensorId, std::vector<std::byte>> raw_constants_;  // as in the artifact
  RootId flags_ = kNoRoot;
};

// The families. Each answers true if it lowered the current op, false to leave it to the next.
Result<bool> lower_warp(Lowering& lowering);
Result<bool> lower_move(Lowering& lowering);
Result<bool> lower_pointwise(Lowering& lowering);
Result<bool> lower_convolution(Lowering& lowering);
Result<bool> lower_product(Lowering& lowering);
Result<bool> lower_normalisation(Lowering& lowering);
Result<bool> lower_reduction(Lowering& lowering);
Result<bool> lower_window(Lowering& lowering);  // pools, Resize
// Any element type, rank and kind of the heavy ops, one work-item per result.
Result<bool> lower_plainly(Lowering& lowering);

// Computes `tensor` (pending, or any other) into `to`, or anew if `to` is null. In
// lower_pointwise.cpp.
void emit_elements(Lowering& lowering, TensorId tensor, const View& to);
// The layout the pending tensor's inputs suggest.
Layout pending_layout(Lowering& lowering, TensorId tensor);
Launch element_copy(const Traits& traits, const View& from, const View& to);

}  // namespace modeld::opencl
