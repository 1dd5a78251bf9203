#include "tests/support/scripted_device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "runtime/base/aligned_bytes.h"
#include "runtime/reference/reference_device.h"

namespace modeld::test {
namespace {

Error lost_error() {
  return Error(ErrorCode::kDeviceLost, "scripted: the device is gone");
}

Error in_flight() {
  return Error(ErrorCode::kInvalidArgument, "a replay is in flight")
      .expecting("a completed replay", "one still running");
}

// Host pages and, where the device is not coherent, a copy of its own that only flush and
// invalidate keep equal.
class ScriptedBuffer final : public Buffer {
 public:
  ScriptedBuffer(const void* owner, std::unique_ptr<Buffer> host, std::unique_ptr<Buffer> device)
      : owner_(owner), host_(std::move(host)), device_(std::move(device)) {}

  const void* owner() const { return owner_; }
  Buffer& seen_by_device() { return device_ == nullptr ? *host_ : *device_; }

  uint64_t size() const override { return host_->size(); }
  uint64_t alignment() const override { return host_->alignment(); }
  BufferOwnership ownership() const override { return host_->ownership(); }
  bool needs_flush() const override { return device_ != nullptr; }
  Status write(uint64_t offset, std::span<const std::byte> bytes) override {
    return host_->write(offset, bytes);
  }
  Status read(uint64_t offset, std::span<std::byte> bytes) override {
    return host_->read(offset, bytes);
  }
  Status flush() override { return copy(host_, device_); }
  Status invalidate() override { return copy(device_, host_); }

 private:
  // In pieces on the stack: the steady state allocates nothing.
  Status copy(const std::unique_ptr<Buffer>& from, const std::unique_ptr<Buffer>& to) {
    if (device_ == nullptr) return {};
    std::array<std::byte, 4096> piece;
    for (uint64_t at = 0; at < size(); at += piece.size()) {
      const std::span part = std::span(piece).first(std::min<uint64_t>(piece.size(), size() - at));
      MODELD_TRY(from->read(at, part));
      MODELD_TRY(to->write(at, part));
    }
    return {};
  }

  const void* const owner_;
  std::unique_ptr<Buffer> host_;
  std::unique_ptr<Buffer> device_;  // absent where memory is coherent
};

// Forwards to a reference capture and spoils what the script wants spoiled.
class ScriptedCapture final : public Capture {
 public:
  ScriptedCapture(const void* owner, std::shared_ptr<Script> script, std::unique_ptr<Capture> inner)
      : owner_(owner), script_(std::move(script)), inner_(std::move(inner)), submission_(*this) {
    for (auto& set : outputs_) {
      for (const Slot& slot : inner_->outputs()) set.emplace_back(slot.bytes);
    }
  }

  std::span<const Slot> inputs() const override { return inner_->inputs(); }
  std::span<const Slot> outputs() const override { return inner_->outputs(); }
  std::span<const Slot> states() const override { return inner_->states(); }
  std::span<std::byte> staging(size_t input) override { return inner_->staging(input); }

  Status bind(size_t input, Buffer& buffer) override {
    auto* scripted = dynamic_cast<ScriptedBuffer*>(&buffer);
    if (scripted == nullptr || scripted->owner() != owner_) {
      return Error(ErrorCode::kInvalidArgument, "bound buffer")
          .expecting("a buffer of this device", "another device's");
    }
    return inner_->bind(input, scripted->seen_by_device());
  }

  Result<Submission*> replay() override {
    if (in_flight_ && !finished()) return in_flight();
    if (script_->lost()) return lost_error();
    behaviour_ = script_->start_replay();
    started_ = script_->clock().monotonic();
    failure_.reset();
    computed_ = nullptr;
    if (computes()) {
      MODELD_ASSIGN(computed_, inner_->replay());
    }
    in_flight_ = true;
    committable_ = false;
    return &submission_;
  }

  std::span<const std::byte> output(size_t output) const override {
    return output < outputs_[completed_set_].size() ? outputs_[completed_set_][output].span()
                                                    : std::span<std::byte>();
  }

  Status commit() override {
    if (in_flight_) return in_flight();
    if (!committable_) return {};
    committable_ = false;
    script_->count_commit();
    return computed_ == nullptr ? Status() : inner_->commit();
  }

  Status reset_state() override {
    committable_ = false;
    return in_flight_ ? Status(in_flight()) : inner_->reset_state();
  }
  Status read_state(size_t state, std::span<std::byte> out) const override {
    return inner_->read_state(state, out);
  }
  Status write_state(size_t state, std::span<const std::byte> bytes) override {
    return in_flight_ ? Status(in_flight()) : inner_->write_state(state, bytes);
  }

 private:
  class ScriptedSubmission final : public Submission {
   public:
    explicit ScriptedSubmission(ScriptedCapture& capture) : capture_(capture) {}
    Status wait(Deadline deadline) override { return capture_.wait(deadline); }
    const ReplayReport& report() const override { return capture_.report_; }

   private:
    ScriptedCapture& capture_;
  };

  // A failing or answering replay needs no arithmetic.
  bool computes() const {
    return !behaviour_.answers && !behaviour_.blocks && !behaviour_.fails_at_step &&
           !behaviour_.loses_device;
  }

  bool due() const {
    return !behaviour_.blocks && script_->clock().monotonic() - started_ >= behaviour_.delay;
  }

  Status wait(Deadline deadline) {
    while (in_flight_ && !due() && !script_->lost()) {
      if (deadline.passed(script_->clock())) return deadline_error();
      script_->pause();
    }
    if (in_flight_) MODELD_TRY(finish(deadline));
    return failure_ ? Status(*failure_) : Status();
  }

  static Error deadline_error() {
    return Error(ErrorCode::kDeadline, "scripted replay")
        .expecting("completion before the deadline", "still running");
  }

  // True if the replay in flight is complete without anybody waiting.
  bool finished() { return due() && finish({0}).ok(); }

  Status finish(Deadline deadline) {
    if (behaviour_.loses_device || script_->lost()) {
      failure_ = lost_error();
    } else if (behaviour_.fails_at_step) {
      failure_ = Error(ErrorCode::kDevice, "scripted failure")
                     .in("step " + std::to_string(*behaviour_.fails_at_step));
    } else if (computed_ != nullptr) {
      MODELD_TRY(computed_->wait(inner_deadline(deadline)));
      report_ = computed_->report();
    } else {
      const Nanoseconds now = script_->clock().monotonic();
      report_ = {};
      report_.phases[static_cast<size_t>(Phase::kModel)] = {started_, started_, started_, now};
    }
    in_flight_ = false;
    if (!failure_) publish();
    return {};
  }

  // The reference computes in real time, whatever the script's clock says.
  Deadline inner_deadline(Deadline deadline) const {
    const Clock& real = Clock::real();
    return &script_->clock() == &real ? deadline : Deadline::after(real, 60 * kSecond);
  }

  void publish() {
    completed_set_ = 1 - completed_set_;
    for (size_t i = 0; i < outputs_[completed_set_].size(); ++i) {
      const std::span<std::byte> to = outputs_[completed_set_][i].span();
      const std::span<const std::byte> from = result(i);
      std::fill(to.begin(), to.end(), std::byte{0});
      std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
      if (behaviour_.corruption && behaviour_.corruption->output == inner_->outputs()[i].name) {
        spoil(to, inner_->outputs()[i].type.dtype);
      }
    }
    committable_ = true;
  }

  std::span<const std::byte> result(size_t output) const {
    if (!behaviour_.answers) return inner_->output(output);
    const auto found = behaviour_.answers->find(inner_->outputs()[output].name);
    if (found == behaviour_.answers->end()) return {};
    return found->second;
  }

  // All bits set is a NaN in every float type.
  void spoil(std::span<std::byte> bytes, DType dtype) const {
    const uint64_t size = size_of(dtype);
    const uint64_t first = std::min<uint64_t>(behaviour_.corruption->first * size, bytes.size());
    const uint64_t length =
        std::min<uint64_t>(behaviour_.corruption->count * size, bytes.size() - first);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), length, std::byte{0xff});
  }

  const void* const owner_;
  const std::shared_ptr<Script> script_;
  const std::unique_ptr<Capture> inner_;
  ScriptedSubmission submission_;
  Submission* computed_ = nullptr;  // the reference's replay behind the current one, if any
  Behaviour behaviour_;
  Nanoseconds started_ = 0;
  bool in_flight_ = false;
  bool committable_ = false;
  std::optional<Error> failure_;
  ReplayReport report_;
  std::array<std::vector<AlignedBytes>, 2> outputs_;
  size_t completed_set_ = 0;
};

class ScriptedDevice final : public Device {
 public:
  ScriptedDevice(std::shared_ptr<Script> script, DeviceClass device_class)
      : script_(std::move(script)), capabilities_(inner_->capabilities()) {
    capabilities_.backend = "scripted";
    capabilities_.name = "scripted device";
    capabilities_.device_class = device_class;
    if (script_->non_coherent()) {
      for (MemoryKind& kind : capabilities_.memory) kind.coherent = Probed::kNo;
    }
  }

  const DeviceCapabilities& capabilities() const override { return capabilities_; }

  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override {
    MODELD_ASSIGN(auto host, inner_->allocate(bytes, alignment));
    return wrap(std::move(host));
  }

  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override {
    MODELD_ASSIGN(auto host, inner_->import_host(pages));
    return wrap(std::move(host));
  }

  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override {
    MODELD_TRY(script_->take_record());
    MODELD_ASSIGN(auto inner, inner_->record(program, weights, options));
    return std::unique_ptr<Capture>(
        std::make_unique<ScriptedCapture>(this, script_, std::move(inner)));
  }

 private:
  Result<std::unique_ptr<Buffer>> wrap(std::unique_ptr<Buffer> host) {
    std::unique_ptr<Buffer> device;
    if (script_->non_coherent()) {
      MODELD_ASSIGN(device, inner_->allocate(host->size(), AlignedBytes::kCacheLine));
    }
    return std::unique_ptr<Buffer>(
        std::make_unique<ScriptedBuffer>(this, std::move(host), std::move(device)));
  }

  const std::shared_ptr<Script> script_;
  const std::unique_ptr<Device> inner_ = open_reference_device();
  DeviceCapabilities capabilities_;
};

}  // namespace

void Script::set(Behaviour behaviour) {
  {
    const std::lock_guard lock(mutex_);
    behaviour_ = std::move(behaviour);
  }
  changed_.notify_all();
}

Behaviour Script::behaviour() const {
  const std::lock_guard lock(mutex_);
  return behaviour_;
}

uint64_t Script::replays() const {
  const std::lock_guard lock(mutex_);
  return replays_;
}

uint64_t Script::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

void Script::fail_records(uint32_t count) {
  const std::lock_guard lock(mutex_);
  failing_records_ = count;
}

void Script::set_non_coherent(bool non_coherent) {
  const std::lock_guard lock(mutex_);
  non_coherent_ = non_coherent;
}

bool Script::non_coherent() const {
  const std::lock_guard lock(mutex_);
  return non_coherent_;
}

bool Script::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

Status Script::take_record() {
  const std::lock_guard lock(mutex_);
  if (lost_) return lost_error();
  if (failing_records_ == 0) return {};
  --failing_records_;
  return Error(ErrorCode::kDevice, "scripted: recording fails");
}

Behaviour Script::start_replay() {
  const std::lock_guard lock(mutex_);
  ++replays_;
  lost_ = lost_ || behaviour_.loses_device;
  return behaviour_;
}

void Script::count_commit() {
  const std::lock_guard lock(mutex_);
  ++commits_;
}

void Script::pause() const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(1));
}

std::unique_ptr<Device> open_scripted_device(std::shared_ptr<Script> script,
                                             DeviceClass device_class) {
  return std::make_unique<ScriptedDevice>(std::move(script), device_class);
}

}  // namespace modeld::test
