#include "runtime/cpu/cpu_capture.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/onednn_call.h"
#include "runtime/device/host_buffer.h"

namespace modeld::cpu {
namespace {

Slot slot_of(const Program& program, TensorId tensor) {
  const Tensor& found = program.tensors[tensor];
  return {found.name, found.type, found.type.bytes()};
}

}  // namespace

void CpuCapture::describe(const Program& program,
                          const std::vector<std::optional<FrameBinding>>& frames) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    inputs_.push_back(slot_of(program, program.inputs[i]));
    if (frames[i]) inputs_[i].bytes = frames[i]->layout.length;
    bind_inputs_.push_back(frames[i] && frames[i]->mode == InputMode::kBind);
  }
  for (const TensorId id : program.outputs) outputs_.push_back(slot_of(program, id));
  for (const StateBinding& state : program.states) {
    states_.push_back(slot_of(program, state.current));
  }
}

Status CpuCapture::load_initial_states(const Program& program, WeightSource& weights) {
  for (size_t i = 0; i < program.states.size(); ++i) {
    std::vector<std::byte> bytes;
    if (const auto& initial = program.states[i].initial) {
      bytes.resize(initial->length);
      MODELD_TRY(weights.read(initial->offset, bytes));
    }
    initial_states_.push_back(std::move(bytes));
  }
  return {};
}

Result<std::unique_ptr<CpuCapture>> CpuCapture::record(
    const void* device, const Program& program, WeightSource& weights,
    const std::vector<std::optional<FrameBinding>>& frames, unsigned threads) {
  std::unique_ptr<CpuCapture> capture(new CpuCapture(device));
  capture->describe(program, frames);
  MODELD_TRY(capture->load_initial_states(program, weights));
  MODELD_ASSIGN(Plan plan, make_plan(program, weights, frames, threads));
  std::vector<Slot> staged = capture->inputs_;
  for (size_t i = 0; i < staged.size(); ++i) {
    if (capture->bind_inputs_[i]) staged[i].bytes = 0;
  }
  MODELD_ASSIGN(capture->replayer_, Replayer::make(program, std::move(plan), std::move(staged),
                                                   capture->outputs_, capture->states_));
  const std::shared_ptr<Replayer> replayer = capture->replayer_;
  capture->team_ = std::make_unique<Team>(
      threads, [replayer](unsigned member) { replayer->run_member(member); },
      // A thread that cannot set up oneDNN reports that with its first call.
      [] { static_cast<void>(prepare_onednn_thread()); });
  MODELD_TRY(capture->reset_state());
  return capture;
}

CpuCapture::~CpuCapture() {
  // What is still running need not finish.
  if (replayer_ != nullptr) replayer_->abandon();
}

std::span<std::byte> CpuCapture::staging(size_t input) {
  if (input >= inputs_.size() || bind_inputs_[input]) return {};
  return replayer_->input(input);
}

Status CpuCapture::bind(size_t input, Buffer& buffer) {
  if (input >= inputs_.size() || !bind_inputs_[input]) {
    return Error(ErrorCode::kInvalidArgument, "input cannot be bound")
        .expecting("a frame input recorded for binding", std::to_string(input));
  }
  MODELD_TRY(check_idle("bind"));
  auto host = host_buffer_for_bind(buffer, device_, inputs_[input].bytes);
  if (!host.ok()) return std::move(host).error().in("input '" + inputs_[input].name + "'");
  replayer_->bind(input, (*host)->data());
  return {};
}

Status CpuCapture::check_idle(std::string_view what) const {
  if (!in_flight_) return {};
  return Error(ErrorCode::kInvalidArgument, std::string(what) + " while a replay is in flight");
}

Result<Submission*> CpuCapture::replay() {
  MODELD_TRY(check_idle("replay"));
  if (failure_) return *failure_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!bind_inputs_[i] || replayer_->bound(i)) continue;
    return Error(ErrorCode::kInvalidArgument, "frame input '" + inputs_[i].name + "' is not bound");
  }
  running_set_ = completed_set_ ^ 1u;
  shadow_ready_ = false;
  replayer_->prepare(running_set_, Clock::real().monotonic());
  in_flight_ = true;
  team_->start();
  return &submission_;
}

Status CpuCapture::CpuSubmission::wait(Deadline deadline) {
  if (capture_.failure_) return *capture_.failure_;
  if (!capture_.in_flight_) return {};
  if (!capture_.team_->wait(deadline)) {
    return Error(ErrorCode::kDeadline, "replay did not end in time");
  }
  capture_.in_flight_ = false;
  capture_.replayer_->complete_report();
  if (const int status = capture_.replayer_->library_status(); status != 0) {
    capture_.failure_ =
        Error(ErrorCode::kDevice, "oneDNN primitive failed with status " + std::to_string(status));
    return *capture_.failure_;
  }
  capture_.completed_set_ = capture_.running_set_;
  capture_.shadow_ready_ = true;
  return {};
}

std::span<const std::byte> CpuCapture::output(size_t output) const {
  if (output >= outputs_.size()) return {};
  return replayer_->output(completed_set_, output);
}

Status CpuCapture::commit() {
  MODELD_TRY(check_idle("commit"));
  if (!shadow_ready_) return {};
  replayer_->swap_states();
  shadow_ready_ = false;
  return {};
}

Status CpuCapture::reset_state() {
  MODELD_TRY(check_idle("reset"));
  shadow_ready_ = false;
  for (size_t i = 0; i < states_.size(); ++i) {
    const auto state = replayer_->current_state(i);
    if (initial_states_[i].empty()) {
      std::fill(state.begin(), state.end(), std::byte{0});
    } else {
      std::copy(initial_states_[i].begin(), initial_states_[i].end(), state.begin());
    }
  }
  return {};
}

Status CpuCapture::check_state(size_t state, size_t bytes) const {
  MODELD_TRY(check_idle("state access"));
  if (state < states_.size() && bytes == states_[state].bytes) return {};
  return Error(ErrorCode::kInvalidArgument, "state")
      .expecting(state < states_.size() ? std::to_string(states_[state].bytes) + " bytes"
                                        : "an index below " + std::to_string(states_.size()),
                 state < states_.size() ? std::to_string(bytes) + " bytes" : std::to_string(state));
}

Status CpuCapture::read_state(size_t state, std::span<std::byte> out) const {
  MODELD_TRY(check_state(state, out.size()));
  const auto from = replayer_->current_state(state);
  std::copy(from.begin(), from.end(), out.begin());
  return {};
}

Status CpuCapture::write_state(size_t state, std::span<const std::byte> bytes) {
  MODELD_TRY(check_state(state, bytes.size()));
  shadow_ready_ = false;
  std::copy(bytes.begin(), bytes.end(), replayer_->current_state(state).begin());
  return {};
}

std::vector<CpuStep> CpuCapture::steps() const {
  std::vector<CpuStep> steps;
  const std::vector<StepRecord>& records = replayer_->plan().steps;
  for (size_t i = 0; i < records.size(); ++i) {
    steps.push_back({records[i].op, records[i].how, records[i].parallel, replayer_->step_time(i)});
  }
  return steps;
}

}  // namespace modeld::cpu
