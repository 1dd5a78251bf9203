// A program recorded as a fixed list of commands on fixed device memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/capture.h"
#include "runtime/opencl/device_arena.h"
#include "runtime/opencl/flight.h"
#include "runtime/opencl/kernel_cache.h"
#include "runtime/opencl/lowering.h"
#include "runtime/opencl/session.h"

namespace modeld::opencl {

// A step for people: which kernel runs an op, and how long it took in the last replay (ns; 0 where
// the device does not tell).
struct StepInfo {
  std::string op;
  std::string how;
  std::string kernel;     // equal names are equal kernels
  std::string signature;  // op_signature(); empty for what belongs to no op
  std::array<size_t, 3> global{};
  std::array<size_t, 3> local{};
  Nanoseconds time = 0;
};

// One packed upload, the kernels, one packed download, all enqueued anew for each replay on an
// in-order queue with kernel arguments that never change, but for a frame that is bound.
class OpenClCapture final : public Capture {
 public:
  static Result<std::unique_ptr<OpenClCapture>> record(
      SessionPointer session, DeviceArena& memory, KernelCache& kernels, const Program& program,
      WeightSource& weights, const std::vector<std::optional<FrameBinding>>& frames,
      Nanoseconds load_deadline);
  // Waits for work in flight, ten seconds at most.
  ~OpenClCapture() override;

  std::span<const Slot> inputs() const override { return inputs_; }
  std::span<const Slot> outputs() const override { return outputs_; }
  std::span<const Slot> states() const override { return states_; }
  std::span<std::byte> staging(size_t input) override;
  Status bind(size_t input, Buffer& buffer) override;
  Result<Submission*> replay() override;
  std::span<const std::byte> output(size_t output) const override;
  Status commit() override;
  Status reset_state() override;
  Status read_state(size_t state, std::span<std::byte> out) const override;
  Status write_state(size_t state, std::span<const std::byte> bytes) override;

  std::vector<StepInfo> steps() const;
  // Takes the time of every kernel in the replays that follow (costs an event each).
  void keep_step_times(bool keep) { keeps_step_times_ = keep; }
  // Bytes of device memory behind this capture.
  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t upload_bytes() const { return plan_.upload_bytes; }

 private:
  class OwnSubmission final : public Submission {
   public:
    explicit OwnSubmission(OpenClCapture& capture) : capture_(capture) {}
    Status wait(Deadline deadline) override { return capture_.wait(deadline); }
    const ReplayReport& report() const override { return capture_.report_; }

   private:
    OpenClCapture& capture_;
  };

  // A prepared enqueue.
  struct Command {
    ClKernelHandle kernel;
    std::array<size_t, 3> global;
    std::array<size_t, 3> local;
    Phase phase;
    bool timed;  // the first or last command of its phase
  };

  // An event whose times are wanted.
  struct Timed {
    Phase phase;
    size_t command;
    cl_event event;
  };

  // Where an argument of a command is a bound frame.
  struct BoundArgument {
    size_t command;
    cl_uint index;
    size_t input;
  };

  explicit OpenClCapture(SessionPointer session) : session_(std::move(session)) {}

  void describe(const Program& program, const std::vector<std::optional<FrameBinding>>& frames);
  Status load_initial_states(const Program& program, WeightSource& weights);
  Status allocate(DeviceArena& memory);
  Status prepare(KernelCache& kernels);
  Status warm_up(Nanoseconds deadline);
  Status set_memory(cl_kernel kernel, cl_uint index, RootId root);
  Status set_arguments(const Launch& launch, cl_kernel kernel);
  Status bind_memory(size_t input, cl_mem memory);
  cl_mem memory_of(RootId root) const;

  Status check_idle(std::string_view what) const;
  Status check_state(size_t state, size_t bytes) const;
  Status enqueue_all();
  Status enqueue_kernels();
  Status enqueue_completion();
  Status note(Phase phase, size_t command, cl_event event);
  Status wait(Deadline deadline);
  void finish_report();
  void release_events();
  // Makes the error the answer of everything that follows.
  Error fail(Error error);

  SessionPointer session_;
  Plan plan_;
  std::vector<Slot> inputs_, outputs_, states_;
  std::vector<bool> bind_inputs_;
  std::vector<bool> bound_;
  std::vector<std::vector<std::byte>> initial_states_;  // empty: zeros
  std::vector<Command> commands_;
  std::vector<BoundArgument> bound_arguments_;

  DeviceArena::Piece arena_, upload_, download_;
  std::vector<DeviceArena::Piece> own_;  // by root: constants, states, next values, flags
  uint64_t device_bytes_ = 0;

  Flight* flight_ = nullptr;
  std::vector<Timed> events_;
  std::vector<Nanoseconds> step_times_;
  bool keeps_step_times_ = false;
  bool in_flight_ = false;
  bool enqueued_ = false;  // of the replay at hand: commands may be running
  bool shadow_ready_ = false;
  unsigned running_set_ = 0;
  unsigned completed_set_ = 1;
  Nanoseconds queued_ = 0;
  ReplayReport report_;
  std::optional<Error> failure_;
  OwnSubmission submission_{*this};
};

}  // namespace modeld::opencl
