// A device under a clock that stands still: what separates the time of a replay from the machine's.
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace modeld::replay {

// Passes everything on to `inner`, but for two things: a wait's deadline, which the daemons state
// on the replay's clock, becomes `patience` on the machine's; and reports carry no times,
// which would put the machine's clock into messages.
class ReplayDevice final : public Device {
 public:
  static constexpr Nanoseconds kPatience = 60 * kSecond;

  explicit ReplayDevice(std::unique_ptr<Device> inner, Nanoseconds patience = kPatience)
      : inner_(std::move(inner)), patience_(patience) {}

  const DeviceCapabilities& capabilities() const override { return inner_->capabilities(); }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override {
    return inner_->allocate(bytes, alignment);
  }
  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override {
    return inner_->import_host(pages);
  }
  Result<std::unique_ptr<Buffer>> import_shared(int fd, std::span<std::byte> pages) override {
    return inner_->import_shared(fd, pages);
  }
  bool abandon() override { return inner_->abandon(); }
  Status seal() override { return inner_->seal(); }
  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override;

 private:
  std::unique_ptr<Device> inner_;
  const Nanoseconds patience_;
};

}  // namespace modeld::replay
