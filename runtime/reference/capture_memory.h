// Where the tensors of a recorded program live.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/aligned_bytes.h"
#include "runtime/device/capture.h"
#include "runtime/program/weights.h"

namespace modeld::reference {

// A copy at the end of a replay: for an output nobody writes (an input, constant or state), or a
// state whose next value already lives elsewhere.
struct FinalCopy {
  TensorId from = kNoTensor;
  std::byte* to[2] = {nullptr, nullptr};  // by output set, or by shadow half
  uint64_t bytes = 0;
  bool to_state = false;
};

// All memory of a capture, and the address of every tensor for the replay at hand. Outputs have two
// sets used in turn; states two halves, one current and one shadow. Not thread-safe.
class CaptureMemory {
 public:
  // Allocates everything and reads the weights. kExhausted names the bytes.
  Status allocate(const Program& program, WeightSource& weights,
                  const std::vector<std::optional<FrameBinding>>& frames);

  // Points outputs at set `output_set` and next states at the shadow half.
  void begin_replay(size_t output_set);
  // Copies what has no kernel of its own.
  void run_final_copies(size_t output_set);
  bool has_final_copies() const { return !copies_.empty(); }

  std::byte* address(TensorId id) const { return addresses_[id]; }
  std::span<std::byte> staging(size_t input) const { return staging_[input].span(); }
  void bind(TensorId input, std::byte* pages) { addresses_[input] = pages; }
  std::span<const std::byte> output(size_t output_set, size_t output) const {
    return outputs_[output_set][output].span();
  }
  std::span<std::byte> state(size_t state) const { return states_[current_][state].span(); }
  // Written by the last replay, not yet current.
  std::span<const std::byte> shadow_state(size_t state) const {
    return states_[1 - current_][state].span();
  }
  void swap_states() { current_ = 1 - current_; }
  void reset_states();

 private:
  using Blocks = std::vector<AlignedBytes>;

  Status allocate_inputs(const Program& program,
                         const std::vector<std::optional<FrameBinding>>& frames);
  Status allocate_outputs(const Program& program);
  Status allocate_states(const Program& program);
  Status allocate_arena(const Program& program);
  Status read_weights(const Program& program, WeightSource& weights);

  std::vector<std::byte*> addresses_;  // by tensor id
  Blocks staging_;                     // by program input; empty for a bound one
  Blocks constants_;
  AlignedBytes arena_;
  std::array<Blocks, 2> outputs_;  // by set, then program output
  std::array<Blocks, 2> states_;   // by half, then state
  Blocks initial_;                 // by state
  size_t current_ = 0;
  // Tensors that move between sets or halves: id and position.
  std::vector<std::pair<TensorId, size_t>> output_homes_;
  std::vector<std::pair<TensorId, size_t>> state_homes_;
  std::vector<std::pair<TensorId, size_t>> current_homes_;
  std::vector<FinalCopy> copies_;
};

}  // namespace modeld::reference
