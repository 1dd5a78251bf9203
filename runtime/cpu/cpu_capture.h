// A program recorded for the processor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/replayer.h"
#include "runtime/cpu/team.h"
#include "runtime/device/capture.h"

namespace modeld::cpu {

// The work runs on the capture's own threads; the caller only waits for them.
class CpuCapture final : public Capture {
 public:
  // `device` owns the buffers that may be bound; `threads` members; `frames` by position of the
  // program's inputs.
  static Result<std::unique_ptr<CpuCapture>> record(
      const void* device, const Program& program, WeightSource& weights,
      const std::vector<std::optional<FrameBinding>>& frames, unsigned threads);
  ~CpuCapture() override;

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

  std::vector<CpuStep> steps() const;
  void keep_step_times(bool keep) { replayer_->keep_step_times(keep); }

 private:
  class CpuSubmission final : public Submission {
   public:
    explicit CpuSubmission(CpuCapture& capture) : capture_(capture) {}
    Status wait(Deadline deadline) override;
    const ReplayReport& report() const override { return capture_.replayer_->report(); }

   private:
    CpuCapture& capture_;
  };

  explicit CpuCapture(const void* device) : device_(device), submission_(*this) {}
  void describe(const Program& program, const std::vector<std::optional<FrameBinding>>& frames);
  Status load_initial_states(const Program& program, WeightSource& weights);
  Status check_idle(std::string_view what) const;
  Status check_state(size_t state, size_t bytes) const;

  const void* device_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<Slot> states_;
  std::vector<bool> bind_inputs_;
  std::vector<std::vector<std::byte>> initial_states_;  // empty: zeros
  std::shared_ptr<Replayer> replayer_;
  std::unique_ptr<Team> team_;
  CpuSubmission submission_;
  bool in_flight_ = false;
  bool shadow_ready_ = false;   // a completed replay has not been committed
  unsigned completed_set_ = 0;  // output set of the last completed replay
  unsigned running_set_ = 0;
  std::optional<Error> failure_;
};

}  // namespace modeld::cpu
