#include "runtime/reference/reference_capture.h"

#include <atomic>
#include <new>
#include <string>
#include <system_error>

#include "runtime/device/finite.h"
#include "runtime/device/host_buffer.h"
#include "runtime/program/expand.h"
#include "runtime/reference/capture_memory.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/worker.h"

namespace modeld::reference {
namespace {

// An op's kernel with room for the addresses of one run.
struct Step {
  KernelPointer kernel;
  Phase phase = Phase::kModel;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<const std::byte*> input_addresses;
  std::vector<std::byte*> output_addresses;

  void run(const CaptureMemory& memory, Flags& flags) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      input_addresses[i] = inputs[i] == kNoTensor ? nullptr : memory.address(inputs[i]);
    }
    for (size_t i = 0; i < outputs.size(); ++i) output_addresses[i] = memory.address(outputs[i]);
    kernel->run({input_addresses, output_addresses, flags});
  }
};

Error in_flight() {
  return Error(ErrorCode::kInvalidArgument, "a replay is in flight")
      .expecting("a completed replay", "one still running");
}

Status check_position(const char* what, size_t position, size_t count) {
  if (position < count) return {};
  return Error(ErrorCode::kInvalidArgument, std::string(what) + " out of range")
      .expecting("below " + std::to_string(count), std::to_string(position));
}

Status check_length(uint64_t want, uint64_t have) {
  if (want == have) return {};
  return Error(ErrorCode::kInvalidArgument, "length of a state")
      .expecting(std::to_string(want) + " bytes", std::to_string(have) + " bytes");
}

class ReferenceCapture final : public Capture {
 public:
  ReferenceCapture(const void* device, std::vector<std::optional<FrameBinding>> frames)
      : device_(device), frames_(std::move(frames)), submission_(*this) {}

  // Steps stop at the next op; the worker's destructor waits for that one.
  ~ReferenceCapture() override { stop_ = true; }

  Status record(const Program& program, WeightSource& weights) {
    MODELD_TRY(memory_.allocate(program, weights, frames_));
    fill_slots(program);
    for (const Op& op : program.ops) {
      if (Status status = add_step(program, op); !status.ok()) {
        return std::move(status).error().in("op '" + op.name + "'");
      }
    }
    worker_ = std::make_unique<Worker>([this] { run_steps(); });
    return {};
  }

  std::span<const Slot> inputs() const override { return inputs_; }
  std::span<const Slot> outputs() const override { return outputs_; }
  std::span<const Slot> states() const override { return states_; }

  std::span<std::byte> staging(size_t input) override {
    return input < inputs_.size() ? memory_.staging(input) : std::span<std::byte>();
  }

  Status bind(size_t input, Buffer& buffer) override {
    MODELD_TRY(check_position("input", input, inputs_.size()));
    if (!frames_[input] || frames_[input]->mode != InputMode::kBind) {
      return Error(ErrorCode::kInvalidArgument, "input '" + inputs_[input].name + "'")
          .expecting("a frame recorded to be bound", "an uploaded input");
    }
    if (!worker_->idle()) return in_flight();
    MODELD_ASSIGN(HostBuffer* const host,
                  host_buffer_for_bind(buffer, device_, frames_[input]->layout.length));
    memory_.bind(input_ids_[input], host->data());
    return {};
  }

  Result<Submission*> replay() override {
    if (!worker_->idle()) return in_flight();
    for (size_t i = 0; i < input_ids_.size(); ++i) {
      if (memory_.address(input_ids_[i]) != nullptr) continue;
      return Error(ErrorCode::kInvalidArgument, "input '" + inputs_[i].name + "'")
          .expecting("a bound buffer", "none");
    }
    queued_ = Clock::real().monotonic();
    output_set_ = 1 - completed_set_;
    shadow_ready_ = false;
    memory_.begin_replay(output_set_);
    submitted_ = Clock::real().monotonic();
    worker_->start();
    return &submission_;
  }

  std::span<const std::byte> output(size_t output) const override {
    // The worker moves on to the other set only when it is done with it.
    if (output >= outputs_.size()) return {};
    return memory_.output(completed_set_, output);
  }

  Status commit() override {
    if (!worker_->idle()) return in_flight();
    if (shadow_ready_) memory_.swap_states();
    shadow_ready_ = false;
    return {};
  }

  Status reset_state() override {
    if (!worker_->idle()) return in_flight();
    memory_.reset_states();
    shadow_ready_ = false;
    return {};
  }

  Status read_state(size_t state, std::span<std::byte> out) const override {
    MODELD_TRY(check_position("state", state, states_.size()));
    const std::span<const std::byte> current = memory_.state(state);
    MODELD_TRY(check_length(current.size(), out.size()));
    std::copy(current.begin(), current.end(), out.begin());
    return {};
  }

  Status write_state(size_t state, std::span<const std::byte> bytes) override {
    if (!worker_->idle()) return in_flight();
    MODELD_TRY(check_position("state", state, states_.size()));
    MODELD_TRY(check_length(memory_.state(state).size(), bytes.size()));
    std::copy(bytes.begin(), bytes.end(), memory_.state(state).begin());
    return {};
  }

 private:
  class ReferenceSubmission final : public Submission {
   public:
    explicit ReferenceSubmission(ReferenceCapture& capture) : capture_(capture) {}
    Status wait(Deadline deadline) override {
      if (capture_.worker_->wait(deadline)) return {};
      return Error(ErrorCode::kDeadline, "reference replay")
          .expecting("completion before the deadline", "steps still running");
    }
    const ReplayReport& report() const override { return capture_.report_; }

   private:
    ReferenceCapture& capture_;
  };

  void fill_slots(const Program& program) {
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const Tensor& tensor = program.tensors[program.inputs[i]];
      const uint64_t bytes = frames_[i] ? frames_[i]->layout.length : tensor.type.bytes();
      inputs_.push_back({tensor.name, tensor.type, bytes});
    }
    for (const TensorId id : program.outputs) outputs_.push_back(slot_of(program.tensors[id]));
    for (const StateBinding& state : program.states) {
      states_.push_back(slot_of(program.tensors[state.current]));
    }
    input_ids_ = program.inputs;
  }

  static Slot slot_of(const Tensor& tensor) {
    return {tensor.name, tensor.type, tensor.type.bytes()};
  }

  Status add_step(const Program& program, const Op& op) {
    std::vector<const TensorType*> inputs;
    for (const TensorId id : op.inputs) {
      inputs.push_back(id == kNoTensor ? nullptr : &program.tensors[id].type);
    }
    std::vector<TensorType> outputs;
    for (const TensorId id : op.outputs) outputs.push_back(program.tensors[id].type);
    const KernelSpec spec{op.kind, op.attributes, inputs, outputs};
    Step step;
    MODELD_ASSIGN(step.kernel, op.kind == OpKind::kWarp
                                   ? make_warp_kernel(spec, layout_of(program, op.inputs[0]))
                                   : make_kernel(spec));
    step.phase = op.phase;
    step.inputs = op.inputs;
    step.outputs = op.outputs;
    step.input_addresses.resize(op.inputs.size());
    step.output_addresses.resize(op.outputs.size());
    steps_.push_back(std::move(step));
    return {};
  }

  // verify() lets Warp read program inputs only.
  Nv12Layout layout_of(const Program& program, TensorId frame) const {
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      if (program.inputs[i] == frame && frames_[i]) return frames_[i]->layout;
    }
    return {};
  }

  // Runs on the worker's thread; everything it touches is left alone by the owner until idle().
  void run_steps() {
    report_ = {};
    Flags flags;
    for (Step& step : steps_) {
      if (stop_) return;
      timed(step.phase, [&] { step.run(memory_, flags); });
    }
    if (memory_.has_final_copies()) {
      timed(Phase::kDownload, [&] { memory_.run_final_copies(output_set_); });
    }
    report_.index_out_of_range = flags.index_out_of_range;
    report_.integer_division_by_zero = flags.integer_division_by_zero;
    for (size_t i = 0; i < states_.size(); ++i) {
      report_.states_not_finite += count_not_finite(states_[i].type.dtype, memory_.shadow_state(i));
    }
    completed_set_ = output_set_;
    shadow_ready_ = true;
  }

  template <typename Run>
  void timed(Phase phase, Run run) {
    PhaseTimes& times = report_.phases[static_cast<size_t>(phase)];
    const Nanoseconds start = Clock::real().monotonic();
    run();
    if (times.started == 0) times = {queued_, submitted_, start, 0};
    times.ended = Clock::real().monotonic();
  }

  const void* const device_;
  const std::vector<std::optional<FrameBinding>> frames_;  // by program input
  std::vector<TensorId> input_ids_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<Slot> states_;
  std::vector<Step> steps_;
  CaptureMemory memory_;
  ReferenceSubmission submission_;
  ReplayReport report_;
  Nanoseconds queued_ = 0;
  Nanoseconds submitted_ = 0;
  size_t output_set_ = 0;                  // being written
  std::atomic<size_t> completed_set_ = 0;  // of the last completed replay
  bool shadow_ready_ = false;
  std::atomic<bool> stop_ = false;
  std::unique_ptr<Worker> worker_;  // last: its thread uses all of the above
};

}  // namespace

Result<std::unique_ptr<Capture>> record_capture(const void* device, const Program& program,
                                                WeightSource& weights,
                                                const CaptureOptions& options) {
  try {
    MODELD_ASSIGN(auto frames, match_frames(program, options));
    auto capture = std::make_unique<ReferenceCapture>(device, std::move(frames));
    MODELD_TRY(capture->record(expanded(program), weights));
    return std::unique_ptr<Capture>(std::move(capture));
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kExhausted, "memory for the reference capture");
  } catch (const std::system_error& error) {
    return Error(ErrorCode::kExhausted,
                 std::string("thread of the reference capture: ") + error.what());
  }
}

}  // namespace modeld::reference
