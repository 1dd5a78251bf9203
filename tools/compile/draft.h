// A program while it is being made: what the importer writes and the passes change.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/op.h"
#include "runtime/program/program.h"
#include "tools/compile/constant.h"

namespace modeld::compile {

struct DraftTensor {
  std::string name;  // wanted; may be empty or taken (assemble() makes names unique)
  TensorType type;
  ConstantPtr constant;  // null for everything computed or given at run time
  // Of a constant that was a DequantizeLinear of constants: its inputs (the last may be kNoTensor).
  std::optional<std::array<TensorId, 3>> dequantised = std::nullopt;
};

struct DraftState {
  TensorId current = kNoTensor;  // zero at start
  TensorId next = kNoTensor;
};

// What folding may cost, so that a small file cannot make a large build: with these numbers well
// under a second. A network with weights may spend more (allow_for).
struct FoldBudget {
  bool all = true;  // false: only what decides shapes (small integer and bool tensors)
  uint64_t bytes = uint64_t{64} << 20;
  uint64_t operations = uint64_t{1} << 27;

  // `constant_bytes`: of constants that a file holds.
  void allow_for(uint64_t constant_bytes) {
    bytes += 16 * constant_bytes;
    operations += 64 * constant_bytes;
  }
};

// Ops are in execution order and each tensor is written once, at all times. Ids stay valid: tensors
// are never removed, only left unused (assemble() drops them). Not thread-safe.
class Draft {
 public:
  std::vector<DraftTensor> tensors;
  std::vector<Op> ops;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<DraftState> states;
  FoldBudget fold;

  TensorId add_tensor(TensorType type, std::string name = {});
  // kRefused where the budget for constants is spent.
  Result<TensorId> add_constant(HostTensor value, std::string name = {});
  TensorId add_constant(ConstantPtr value, std::string name = {});

  // Appends an op: infers its outputs' types and creates them, or, where every input is constant
  // and the budget allows, evaluates it. `op.outputs` is ignored. Errors carry the op's name.
  Result<std::vector<TensorId>> add_op(Op op);
  // The same for ops with one output.
  Result<TensorId> add(OpKind kind, std::string_view name, std::vector<TensorId> op_inputs,
                       Attributes attributes = {}, Phase phase = Phase::kModel);

  // Appends an op that copies `id`, whatever it is: a tensor of its own under `name`.
  TensorId add_copy(TensorId id, std::string name);

  const TensorType& type(TensorId id) const { return tensors[id].type; }
  const Shape& shape(TensorId id) const { return tensors[id].type.shape; }
  DType dtype(TensorId id) const { return tensors[id].type.dtype; }
  const HostTensor* constant(TensorId id) const {
    return id == kNoTensor ? nullptr : tensors[id].constant.get();
  }

  // `id` with other extents, if they differ (a Reshape).
  Result<TensorId> reshaped(TensorId id, const Shape& shape, std::string_view name,
                            Phase phase = Phase::kModel);
  // `id` as another element type, if it differs (a Cast).
  Result<TensorId> cast_to(TensorId id, DType dtype, std::string_view name,
                           Phase phase = Phase::kModel);

 private:
  Result<std::vector<TensorType>> infer(const Op& op) const;
  // True if `op` was evaluated into `results`.
  Result<bool> try_fold(const Op& op, std::span<const TensorType> types,
                        std::vector<TensorId>& results);
};

}  // namespace modeld::compile
