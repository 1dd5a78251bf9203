#include "runtime/reference/capture_memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/program/memory_plan.h"

namespace modeld::reference {
namespace {

Result<AlignedBytes> take(uint64_t bytes, const std::string& what) {
  AlignedBytes memory(bytes);
  if (memory.ok()) return memory;
  return Error(ErrorCode::kExhausted, "memory for " + what)
      .expecting("room for " + std::to_string(bytes) + " bytes", "none");
}

// A piece of the weights and where it goes.
struct Reading {
  WeightRef from;
  std::span<std::byte> to;
  const Tensor* tensor;
};

std::vector<bool> written_by_ops(const Program& program) {
  std::vector<bool> written(program.tensors.size(), false);
  for (const Op& op : program.ops) {
    for (const TensorId id : op.outputs) written[id] = true;
  }
  return written;
}

}  // namespace

Status CaptureMemory::allocate(const Program& program, WeightSource& weights,
                               const std::vector<std::optional<FrameBinding>>& frames) {
  addresses_.assign(program.tensors.size(), nullptr);
  MODELD_TRY(allocate_inputs(program, frames));
  MODELD_TRY(allocate_outputs(program));
  MODELD_TRY(allocate_states(program));
  MODELD_TRY(allocate_arena(program));
  MODELD_TRY(read_weights(program, weights));
  reset_states();
  begin_replay(0);
  return {};
}

Status CaptureMemory::allocate_inputs(const Program& program,
                                      const std::vector<std::optional<FrameBinding>>& frames) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Tensor& tensor = program.tensors[program.inputs[i]];
    const auto& frame = frames[i];
    if (frame && frame->mode == InputMode::kBind) {
      staging_.emplace_back();
      continue;
    }
    const uint64_t bytes = frame ? frame->layout.length : tensor.type.bytes();
    MODELD_ASSIGN(AlignedBytes memory, take(bytes, "input '" + tensor.name + "'"));
    addresses_[program.inputs[i]] = memory.data();
    staging_.push_back(std::move(memory));
  }
  return {};
}

// An output written by an op is that op's place; any other is copied at the end.
Status CaptureMemory::allocate_outputs(const Program& program) {
  const std::vector<bool> written = written_by_ops(program);
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const TensorId id = program.outputs[i];
    const Tensor& tensor = program.tensors[id];
    for (Blocks& set : outputs_) {
      MODELD_ASSIGN(AlignedBytes memory, take(tensor.type.bytes(), "output '" + tensor.name + "'"));
      set.push_back(std::move(memory));
    }
    if (written[id]) {
      output_homes_.emplace_back(id, i);
    } else {
      copies_.push_back(
          {id, {outputs_[0][i].data(), outputs_[1][i].data()}, tensor.type.bytes(), false});
    }
  }
  return {};
}

Status CaptureMemory::allocate_states(const Program& program) {
  std::vector<bool> has_home(program.tensors.size(), false);
  for (const auto& [id, position] : output_homes_) has_home[id] = true;
  for (size_t i = 0; i < program.states.size(); ++i) {
    const StateBinding& state = program.states[i];
    const Tensor& tensor = program.tensors[state.current];
    const uint64_t bytes = tensor.type.bytes();
    for (Blocks* blocks : {&states_[0], &states_[1], &initial_}) {
      MODELD_ASSIGN(AlignedBytes memory, take(bytes, "state '" + tensor.name + "'"));
      blocks->push_back(std::move(memory));
    }
    current_homes_.emplace_back(state.current, i);
    if (has_home[state.next]) {
      copies_.push_back({state.next, {states_[0][i].data(), states_[1][i].data()}, bytes, true});
    } else {
      has_home[state.next] = true;
      state_homes_.emplace_back(state.next, i);
    }
  }
  return {};
}

Status CaptureMemory::allocate_arena(const Program& program) {
  const std::vector<Lifetime> lifetimes = intermediate_lifetimes(program);
  const MemoryPlan plan = plan_memory(lifetimes, AlignedBytes::kCacheLine);
  MODELD_ASSIGN(arena_, take(plan.arena_bytes, "intermediate tensors"));
  const std::vector<bool> written = written_by_ops(program);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    // Outputs and next states get their addresses per replay.
    if (written[id]) addresses_[id] = arena_.data() + plan.offsets[id];
  }
  return {};
}

Status CaptureMemory::read_weights(const Program& program, WeightSource& weights) {
  std::vector<Reading> readings;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (!tensor.is_constant()) continue;
    MODELD_ASSIGN(AlignedBytes memory, take(tensor.type.bytes(), "constant '" + tensor.name + "'"));
    addresses_[id] = memory.data();
    readings.push_back({*tensor.weight, memory.span(), &tensor});
    constants_.push_back(std::move(memory));
  }
  for (size_t i = 0; i < program.states.size(); ++i) {
    const StateBinding& state = program.states[i];
    if (!state.initial) continue;
    readings.push_back({*state.initial, initial_[i].span(), &program.tensors[state.current]});
  }
  // Ascending, so that a verifying source touches each of its blocks once.
  std::stable_sort(readings.begin(), readings.end(), [](const Reading& a, const Reading& b) {
    return a.from.offset < b.from.offset;
  });
  for (const Reading& reading : readings) {
    if (Status status = weights.read(reading.from.offset, reading.to); !status.ok()) {
      return std::move(status).error().in("weights of '" + reading.tensor->name + "'");
    }
  }
  return {};
}

void CaptureMemory::begin_replay(size_t output_set) {
  for (const auto& [id, i] : output_homes_) addresses_[id] = outputs_[output_set][i].data();
  for (const auto& [id, i] : current_homes_) addresses_[id] = states_[current_][i].data();
  for (const auto& [id, i] : state_homes_) addresses_[id] = states_[1 - current_][i].data();
}

void CaptureMemory::run_final_copies(size_t output_set) {
  for (const FinalCopy& copy : copies_) {
    std::byte* to = copy.to[copy.to_state ? 1 - current_ : output_set];
    std::copy_n(addresses_[copy.from], copy.bytes, to);
  }
}

void CaptureMemory::reset_states() {
  for (size_t i = 0; i < initial_.size(); ++i) {
    const std::span<const std::byte> initial = initial_[i].span();
    std::copy(initial.begin(), initial.end(), state(i).begin());
  }
}

}  // namespace modeld::reference
