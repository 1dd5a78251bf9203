#include "tests/daemon/supervise/hanging_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "runtime/reference/reference_device.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {
namespace {

constexpr int kExitCode = 77;

// One executor's view of the switches.
class Fate {
 public:
  Fate(Switches& switches, supervise::ExecutorKind kind)
      : switches_(switches), index_(static_cast<size_t>(kind)) {}

  void meet(Switches::Where where) {
    if (switches_.exits[index_] == where) _exit(kExitCode);
    while (switches_.hangs[index_] == where) pause();
  }
  bool loses_device() const { return switches_.loses_device[index_] != 0; }
  bool spoils() const { return switches_.spoils[index_] != 0; }
  void count_replay() { ++switches_.replays[index_]; }

 private:
  Switches& switches_;
  const size_t index_;
};

class HangingCapture final : public Capture, private Submission {
 public:
  HangingCapture(std::unique_ptr<Capture> inner, Fate fate)
      : inner_(std::move(inner)), fate_(fate) {}
  ~HangingCapture() override { fate_.meet(Switches::kTearDown); }

  std::span<const Slot> inputs() const override { return inner_->inputs(); }
  std::span<const Slot> outputs() const override { return inner_->outputs(); }
  std::span<const Slot> states() const override { return inner_->states(); }
  std::span<std::byte> staging(size_t input) override { return inner_->staging(input); }
  Status bind(size_t input, Buffer& buffer) override { return inner_->bind(input, buffer); }
  Result<Submission*> replay() override {
    fate_.count_replay();
    fate_.meet(Switches::kReplay);
    if (fate_.loses_device()) return Error(ErrorCode::kDeviceLost, "the bus was reset");
    MODELD_ASSIGN(running_, inner_->replay());
    return static_cast<Submission*>(this);
  }
  std::span<const std::byte> output(size_t output) const override {
    const auto bytes = inner_->output(output);
    if (!fate_.spoils()) return bytes;
    spoiled_.assign(bytes.begin(), bytes.end());
    const float wrong = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(spoiled_.data(), &wrong, sizeof wrong);
    return spoiled_;
  }
  Status commit() override {
    fate_.meet(Switches::kCommit);
    return inner_->commit();
  }
  Status reset_state() override { return inner_->reset_state(); }
  Status read_state(size_t state, std::span<std::byte> out) const override {
    return inner_->read_state(state, out);
  }
  Status write_state(size_t state, std::span<const std::byte> bytes) override {
    return inner_->write_state(state, bytes);
  }

 private:
  Status wait(Deadline deadline) override { return running_->wait(deadline); }
  const ReplayReport& report() const override { return running_->report(); }

  std::unique_ptr<Capture> inner_;
  Fate fate_;
  Submission* running_ = nullptr;
  mutable std::vector<std::byte> spoiled_;
};

class HangingDevice final : public Device {
 public:
  explicit HangingDevice(Fate fate) : fate_(fate) {}
  const DeviceCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override {
    return inner_->allocate(bytes, alignment);
  }
  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override {
    return inner_->import_host(pages);
  }
  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override {
    fate_.meet(Switches::kRecord);
    MODELD_ASSIGN(auto inner, inner_->record(program, weights, options));
    return std::unique_ptr<Capture>(std::make_unique<HangingCapture>(std::move(inner), fate_));
  }

 private:
  const std::unique_ptr<Device> inner_ = open_reference_device();
  Fate fate_;
};

}  // namespace

SharedSwitches::SharedSwitches() {
  void* const memory =
      mmap(nullptr, sizeof(Switches), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  switches_ = new (memory) Switches;
}

SharedSwitches::~SharedSwitches() {
  munmap(switches_, sizeof(Switches));
}

Result<supervise::ExecutorWork> open_hanging_work(Switches& switches,
                                                  supervise::ExecutorKind kind) {
  Fate fate(switches, kind);
  fate.meet(Switches::kOpen);
  return supervise::ExecutorWork{tiny_model(), std::make_unique<HangingDevice>(fate), "digest"};
}

}  // namespace modeld::test
