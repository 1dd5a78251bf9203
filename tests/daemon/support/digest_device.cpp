#include "tests/daemon/support/digest_device.h"

#include <algorithm>
#include <cstring>

#include "runtime/program/seeded_inputs.h"

namespace modeld::test {
namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::span<std::byte> pages, DigestScript& script) : pages_(pages), script_(script) {
    ++script_.imports_held;
  }
  ~HostBuffer() override { --script_.imports_held; }
  uint64_t size() const override { return pages_.size(); }
  uint64_t alignment() const override { return 1; }
  BufferOwnership ownership() const override { return BufferOwnership::kImported; }
  bool needs_flush() const override { return false; }
  Status write(uint64_t, std::span<const std::byte>) override {
    return Error(ErrorCode::kPermission, "a camera's buffer");
  }
  Status read(uint64_t offset, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), pages_.data() + offset, bytes.size());
    return {};
  }
  Status flush() override { return {}; }
  Status invalidate() override { return {}; }
  std::span<std::byte> pages() const { return pages_; }

 private:
  std::span<std::byte> pages_;
  DigestScript& script_;
};

uint64_t mix(uint64_t digest, uint64_t value) {
  return SplitMix64(digest ^ value).next();
}

class DigestCapture final : public Capture, private Submission {
 public:
  DigestCapture(const Contract& contract, const CaptureOptions& options, DigestScript& script,
                ManualClock& clock)
      : script_(script), clock_(clock) {
    for (const InputContract& input : contract.inputs) {
      uint64_t bytes = 0;
      bool bound = false;
      for (const FrameBinding& frame : options.frames) {
        if (frame.input != input.name) continue;
        bytes = frame.layout.length;
        bound = frame.mode == InputMode::kBind;
      }
      if (input.type.dtype != DType::kNv12) bytes = input.type.bytes();
      inputs_.push_back({input.name, input.type, bytes});
      staging_.emplace_back(bound ? 0 : bytes);
      bound_.push_back({});
      binds_.push_back(bound);
    }
    for (const OutputContract& output : contract.outputs) {
      outputs_.push_back({output.name, output.type, output.type.bytes()});
      results_.emplace_back(static_cast<size_t>(output.type.elements()));
    }
  }

  std::span<const Slot> inputs() const override { return inputs_; }
  std::span<const Slot> outputs() const override { return outputs_; }
  std::span<const Slot> states() const override { return {}; }
  std::span<std::byte> staging(size_t input) override { return staging_[input]; }

  Status bind(size_t input, Buffer& buffer) override {
    if (!binds_[input]) return Error(ErrorCode::kInvalidArgument, "not a bound input");
    bound_[input] = static_cast<HostBuffer&>(buffer).pages();
    return {};
  }

  Result<Submission*> replay() override {
    if (in_flight_) return Error(ErrorCode::kInvalidArgument, "a replay is in flight");
    if (script_.fails_at_replay) return Error(*script_.fails_at_replay, "scripted replay error");
    ++script_.replays;
    if (script_.during_replay) script_.during_replay();
    compute();
    in_flight_ = true;
    return static_cast<Submission*>(this);
  }

  std::span<const std::byte> output(size_t output) const override {
    return std::as_bytes(std::span(results_[output]));
  }

  Status commit() override {
    if (script_.fails_at_commit) return Error(*script_.fails_at_commit, "scripted commit error");
    ++script_.commits;
    state_ = shadow_;
    return {};
  }
  Status reset_state() override {
    state_ = shadow_ = 0;
    return {};
  }
  Status read_state(size_t, std::span<std::byte>) const override {
    return Error(ErrorCode::kUnsupported, "no state slots");
  }
  Status write_state(size_t, std::span<const std::byte>) override {
    return Error(ErrorCode::kUnsupported, "no state slots");
  }

 private:
  Status wait(Deadline deadline) override {
    if (script_.blocks) {
      clock_.set(std::max(clock_.monotonic(), deadline.at));
      return Error(ErrorCode::kDeadline, "scripted block");
    }
    in_flight_ = false;
    clock_.advance(script_.takes);
    if (script_.fails_at_wait) return Error(*script_.fails_at_wait, "scripted wait error");
    return {};
  }
  const ReplayReport& report() const override { return report_; }

  void compute() {
    uint64_t digest = state_;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::span<const std::byte> bytes = binds_[i] ? std::span<const std::byte>(bound_[i])
                                                         : std::span<const std::byte>(staging_[i]);
      // Enough to tell pictures apart; small inputs completely.
      const size_t step = bytes.size() > 4096 ? 4099 : 1;
      for (size_t at = 0; at < bytes.size(); at += step) {
        digest = mix(digest, static_cast<uint64_t>(bytes[at]));
      }
    }
    shadow_ = digest;
    report_ = {};
    report_.index_out_of_range = script_.index_out_of_range;
    report_.states_not_finite = script_.states_not_finite;
    report_.cpu_wait = script_.cpu_wait;
    SplitMix64 random(digest);
    for (auto& values : results_) {
      for (float& value : values) value = static_cast<float>(random.normal() * 0.25);
    }
    if (script_.spoil) script_.spoil(results_[0]);
  }

  DigestScript& script_;
  ManualClock& clock_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<std::vector<std::byte>> staging_;
  std::vector<std::span<std::byte>> bound_;
  std::vector<bool> binds_;
  std::vector<std::vector<float>> results_;
  ReplayReport report_;
  uint64_t state_ = 0;
  uint64_t shadow_ = 0;
  bool in_flight_ = false;
};

}  // namespace

DigestDevice::DigestDevice(Contract contract, DigestScript& script, ManualClock& clock)
    : contract_(std::move(contract)), script_(script), clock_(clock) {
  capabilities_.backend = "digest";
}

Result<std::unique_ptr<Buffer>> DigestDevice::allocate(uint64_t, uint64_t) {
  return Error(ErrorCode::kUnsupported, "nobody allocates here");
}

Result<std::unique_ptr<Buffer>> DigestDevice::import_host(std::span<std::byte> pages) {
  if (!script_.can_import) return Error(ErrorCode::kUnsupported, "no import");
  ++script_.imports;
  return std::unique_ptr<Buffer>(std::make_unique<HostBuffer>(pages, script_));
}

Result<std::unique_ptr<Capture>> DigestDevice::record(const Program&, WeightSource&,
                                                      const CaptureOptions& options) {
  ++script_.records;
  return std::unique_ptr<Capture>(
      std::make_unique<DigestCapture>(contract_, options, script_, clock_));
}

}  // namespace modeld::test
