#include "tools/replay/replay_device.h"

#include <utility>

namespace modeld::replay {
namespace {

class ReplayCapture final : public Capture, private Submission {
 public:
  ReplayCapture(std::unique_ptr<Capture> inner, Nanoseconds patience)
      : inner_(std::move(inner)), patience_(patience) {}

  std::span<const Slot> inputs() const override { return inner_->inputs(); }
  std::span<const Slot> outputs() const override { return inner_->outputs(); }
  std::span<const Slot> states() const override { return inner_->states(); }
  std::span<std::byte> staging(size_t input) override { return inner_->staging(input); }
  Status bind(size_t input, Buffer& buffer) override { return inner_->bind(input, buffer); }
  std::span<const std::byte> output(size_t output) const override { return inner_->output(output); }
  Status commit() override { return inner_->commit(); }
  Status reset_state() override { return inner_->reset_state(); }
  Status read_state(size_t state, std::span<std::byte> out) const override {
    return inner_->read_state(state, out);
  }
  Status write_state(size_t state, std::span<const std::byte> bytes) override {
    return inner_->write_state(state, bytes);
  }

  Result<Submission*> replay() override {
    MODELD_ASSIGN(in_flight_, inner_->replay());
    return static_cast<Submission*>(this);
  }

 private:
  Status wait(Deadline) override {
    MODELD_TRY(in_flight_->wait(Deadline::after(Clock::real(), patience_)));
    report_ = in_flight_->report();
    report_.phases = {};
    report_.cpu_wait = 0;
    return {};
  }
  const ReplayReport& report() const override { return report_; }

  std::unique_ptr<Capture> inner_;
  const Nanoseconds patience_;
  Submission* in_flight_ = nullptr;
  ReplayReport report_;
};

}  // namespace

Result<std::unique_ptr<Capture>> ReplayDevice::record(const Program& program, WeightSource& weights,
                                                      const CaptureOptions& options) {
  MODELD_ASSIGN(auto capture, inner_->record(program, weights, options));
  return std::unique_ptr<Capture>(std::make_unique<ReplayCapture>(std::move(capture), patience_));
}

}  // namespace modeld::replay
