#include "runtime/cpu/replayer.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "runtime/base/thread_time.h"
#include "runtime/device/finite.h"

namespace modeld::cpu {
namespace {

Status allocate_all(const std::vector<Slot>& slots, std::vector<AlignedBytes>& memory) {
  for (const Slot& slot : slots) {
    memory.emplace_back(slot.bytes);
    if (memory.back().ok()) continue;
    return Error(ErrorCode::kExhausted, "not enough memory for " + slot.name)
        .expecting(std::to_string(slot.bytes) + " bytes", "allocation refused");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Replayer>> Replayer::make(const Program& program, Plan plan,
                                                 std::vector<Slot> inputs,
                                                 std::vector<Slot> outputs,
                                                 std::vector<Slot> states) {
  const std::shared_ptr<Replayer> replayer(new Replayer(std::move(plan), program.inputs.size()));
  MODELD_TRY(replayer->allocate(inputs, outputs, states));
  return replayer;
}

Status Replayer::allocate(const std::vector<Slot>& inputs, const std::vector<Slot>& outputs,
                          const std::vector<Slot>& states) {
  arena_ = AlignedBytes(plan_.arena_bytes);
  if (!arena_.ok()) {
    return Error(ErrorCode::kExhausted, "not enough memory for intermediates")
        .expecting(std::to_string(plan_.arena_bytes) + " bytes", "allocation refused");
  }
  MODELD_TRY(allocate_all(inputs, inputs_));
  for (unsigned set = 0; set < 2; ++set) {
    MODELD_TRY(allocate_all(outputs, outputs_[set]));
    MODELD_TRY(allocate_all(states, states_[set]));
  }
  for (const Slot& slot : states) state_dtypes_.push_back(slot.type.dtype);
  step_times_.assign(plan_.steps.size(), 0);
  addresses_.resize(plan_.values.size(), nullptr);
  for (ValueId id = 0; id < plan_.values.size(); ++id) {
    const Value& value = plan_.values[id];
    addresses_[id] = base_of(value, value.root, 0) + value.offset;
    if (value.home != Home::kArena && value.home != Home::kConstant) moving_.push_back(id);
  }
  return {};
}

std::byte* Replayer::base_of(const Value& value, ValueId root, unsigned output_set) {
  switch (value.home) {
    case Home::kArena:
      return arena_.data() + plan_.arena_offsets[root];
    case Home::kConstant:
      return plan_.constants[root].data();
    case Home::kInput:
      return bound_[value.index] != nullptr ? bound_[value.index] : inputs_[value.index].data();
    case Home::kOutput:
      return outputs_[output_set][value.index].data();
    case Home::kStateCurrent:
      return states_[current_set_][value.index].data();
    case Home::kStateNext:
      return states_[current_set_ ^ 1u][value.index].data();
  }
  return nullptr;
}

void Replayer::prepare(unsigned output_set, Nanoseconds queued) {
  for (const ValueId id : moving_) {
    const Value& value = plan_.values[id];
    addresses_[id] = base_of(value, value.root, output_set) + value.offset;
  }
  state_.index_out_of_range = 0;
  state_.integer_division_by_zero = 0;
  report_ = {};
  queued_ = queued;
  for (const StepRecord& step : plan_.steps) {
    report_.phases[static_cast<size_t>(step.phase)].queued = queued;
    report_.phases[static_cast<size_t>(step.phase)].submitted = queued;
  }
  phase_.reset();
}

// Closes the phase member 0 was in and opens `phase`; a phase that comes back keeps its start.
void Replayer::enter(Phase phase) {
  if (phase_ == phase) return;
  const Nanoseconds now = Clock::real().monotonic();
  if (phase_) report_.phases[static_cast<size_t>(*phase_)].ended = now;
  PhaseTimes& times = report_.phases[static_cast<size_t>(phase)];
  if (times.started == 0) times.started = now;
  phase_ = phase;
}

void Replayer::finish_report() {
  if (phase_) report_.phases[static_cast<size_t>(*phase_)].ended = Clock::real().monotonic();
  report_.index_out_of_range = state_.index_out_of_range;
  report_.integer_division_by_zero = state_.integer_division_by_zero;
  report_.states_not_finite = count_states_not_finite();
}

uint32_t Replayer::count_states_not_finite() const {
  uint32_t count = 0;
  for (size_t i = 0; i < state_dtypes_.size(); ++i) {
    count += count_not_finite(state_dtypes_[i], states_[current_set_ ^ 1u][i].span());
  }
  return count;
}

void Replayer::complete_report() {
  report_.cpu_wait = *std::max_element(cpu_waits_.begin(), cpu_waits_.end());
}

void Replayer::run_member(unsigned member) {
  CpuWaitMeter meter;
  const Nanoseconds woken_after = meter.began() - queued_;
  const size_t count = plan_.steps.size();
  const bool timed = member == 0 && keeps_step_times_;
  Nanoseconds last = timed ? Clock::real().monotonic() : 0;
  for (size_t i = 0; i < count; ++i) {
    StepRecord& record = plan_.steps[i];
    if (member == 0) enter(record.phase);
    if (abandoned_) {
      // Only the meetings are kept.
    } else if (record.parallel) {
      record.step->run({addresses_.data(), state_, member, plan_.members});
    } else if (member == 0) {
      record.step->run({addresses_.data(), state_, 0, 1});
    }
    // Steps of member 0 alone may follow each other without a meeting.
    const bool next_is_parallel = i + 1 < count && plan_.steps[i + 1].parallel;
    if (record.parallel || next_is_parallel) meter.slept(barrier_.arrive_and_wait());
    if (!timed) continue;
    const Nanoseconds now = Clock::real().monotonic();
    step_times_[i] = now - last;
    last = now;
  }
  if (member == 0) finish_report();
  cpu_waits_[member] = woken_after + meter.waited();
}

}  // namespace modeld::cpu
