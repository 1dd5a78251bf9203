// A capture whose answers a test writes: no device behind it.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "runtime/device/capture.h"

namespace modeld::test {

// `answer` is asked at every replay: how many replays there were before since the start, how many
// commits since the last reset, and the staged inputs; it returns the outputs.
class FakeCapture final : public Capture {
 public:
  using Answer = std::function<std::vector<std::vector<std::byte>>(
      size_t replay, size_t commits, const std::vector<std::vector<std::byte>>& inputs)>;

  FakeCapture(std::vector<Slot> inputs, std::vector<Slot> outputs, Answer answer)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), answer_(std::move(answer)) {
    for (const Slot& slot : inputs_) staging_.emplace_back(slot.bytes);
  }

  std::span<const Slot> inputs() const override { return inputs_; }
  std::span<const Slot> outputs() const override { return outputs_; }
  std::span<const Slot> states() const override { return {}; }
  std::span<std::byte> staging(size_t input) override { return staging_[input]; }
  Status bind(size_t, Buffer&) override { return Error(ErrorCode::kUnsupported, "no binding"); }
  Result<Submission*> replay() override {
    if (!replay_failure_.ok()) return replay_failure_.error();
    values_ = answer_(replays_++, commits_, staging_);
    return &submission_;
  }
  std::span<const std::byte> output(size_t index) const override { return values_[index]; }
  Status commit() override {
    ++commits_;
    return {};
  }
  Status reset_state() override {
    commits_ = 0;
    ++resets_;
    return {};
  }
  Status read_state(size_t, std::span<std::byte>) const override { return {}; }
  Status write_state(size_t, std::span<const std::byte>) override { return {}; }

  void fail_replays(Error error) { replay_failure_ = std::move(error); }
  ReplayReport& report() { return submission_.report_; }
  size_t resets() const { return resets_; }
  size_t replays() const { return replays_; }

 private:
  struct FakeSubmission final : Submission {
    Status wait(Deadline) override { return {}; }
    const ReplayReport& report() const override { return report_; }
    ReplayReport report_;
  };

  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  Answer answer_;
  std::vector<std::vector<std::byte>> staging_;
  std::vector<std::vector<std::byte>> values_;
  FakeSubmission submission_;
  Status replay_failure_;
  size_t replays_ = 0;
  size_t commits_ = 0;
  size_t resets_ = 0;
};

}  // namespace modeld::test
