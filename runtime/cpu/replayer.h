// The plan of a capture with its memory, and one frame of it on a team's members.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "runtime/cpu/plan.h"
#include "runtime/cpu/team.h"
#include "runtime/device/capture.h"

namespace modeld::cpu {

// Everything the team's threads touch. Held by shared_ptr: if a capture is destroyed while a frame
// hangs, the threads keep this alive. Between frames it belongs to the capture's thread.
class Replayer {
 public:
  static Result<std::shared_ptr<Replayer>> make(const Program& program, Plan plan,
                                                std::vector<Slot> inputs, std::vector<Slot> outputs,
                                                std::vector<Slot> states);

  // Member `member`'s part of a frame.
  void run_member(unsigned member);

  // Before a frame: resets counters and puts the addresses of this frame in place.
  void prepare(unsigned output_set, Nanoseconds queued);

  const Plan& plan() const { return plan_; }
  unsigned members() const { return plan_.members; }
  std::span<std::byte> input(size_t index) { return inputs_[index].span(); }
  std::span<std::byte> output(unsigned set, size_t index) { return outputs_[set][index].span(); }
  std::span<std::byte> current_state(size_t index) { return states_[current_set_][index].span(); }
  void swap_states() { current_set_ ^= 1u; }
  // Bytes of a frame bound from outside; null for an input that is staged.
  void bind(size_t input, std::byte* data) { bound_[input] = data; }
  bool bound(size_t input) const { return bound_[input] != nullptr; }

  // A frame in flight skips the steps it has not begun; its results are void.
  void abandon() { abandoned_ = true; }

  void keep_step_times(bool keep) { keeps_step_times_ = keep; }

  // After a frame, by the owner: what only all members together know.
  void complete_report();

  // Valid between frames.
  Nanoseconds step_time(size_t step) const { return step_times_[step]; }
  const ReplayReport& report() const { return report_; }
  int library_status() const { return state_.library_status.load(); }

 private:
  Replayer(Plan plan, size_t inputs)
      : plan_(std::move(plan)),
        barrier_(plan_.members),
        bound_(inputs, nullptr),
        cpu_waits_(plan_.members, 0) {}

  Status allocate(const std::vector<Slot>& inputs, const std::vector<Slot>& outputs,
                  const std::vector<Slot>& states);
  std::byte* base_of(const Value& value, ValueId root, unsigned output_set);
  void enter(Phase phase);
  void finish_report();
  uint32_t count_states_not_finite() const;

  Plan plan_;
  Barrier barrier_;
  AlignedBytes arena_;
  std::vector<AlignedBytes> inputs_;
  std::array<std::vector<AlignedBytes>, 2> outputs_;
  std::array<std::vector<AlignedBytes>, 2> states_;
  unsigned current_set_ = 0;
  std::vector<DType> state_dtypes_;
  std::vector<std::byte*> bound_;
  std::vector<std::byte*> addresses_;  // by ValueId
  std::vector<ValueId> moving_;        // values whose address changes between frames
  ReplayState state_;
  std::atomic<bool> abandoned_ = false;
  ReplayReport report_;
  Nanoseconds queued_ = 0;
  std::vector<Nanoseconds> cpu_waits_;  // by member
  bool keeps_step_times_ = false;
  std::vector<Nanoseconds> step_times_;  // by step
  std::optional<Phase> phase_;           // the one member 0 is in
};

}  // namespace modeld::cpu
