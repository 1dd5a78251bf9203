// A verified model on an opened device: what turns frames into outputs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "daemon/health/readiness.h"
#include "runtime/artifact/model.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/device/capture.h"
#include "runtime/device/device.h"

namespace modeld {

// Whether another device would take over. Values are those of the wire.
enum class FallbackState : uint8_t { kNone, kWarm, kCold, kActive };

// Not thread-safe.
class Engine {
 public:
  // A model and a device at hand; open_engine() brings both from a configuration. `options` without
  // frames.
  Engine(Model model, std::unique_ptr<Device> device, const CaptureOptions& options);

  const Contract& contract() const { return model_.contract; }
  const Model& model() const { return model_; }
  Device& device() { return *device_; }

  // The capture for exactly these frame layouts. Recorded when asked for the first time, which
  // takes long; the last kKeptCaptures are kept. A capture never seen before starts from the
  // initial state. The pointer is good until a capture for another layout is asked for.
  static constexpr size_t kKeptCaptures = 2;
  Result<Capture*> capture(std::span<const FrameBinding> frames);

  // A second device for the same model, which takes over when the first one fails. Its captures are
  // recorded with those of the first (pictures uploaded), and kept warm.
  void set_fallback(std::unique_ptr<Device> device, const CaptureOptions& options);
  FallbackState fallback() const { return fallback_state_; }

  // One way: from now on the fallback is the device, with the states of the capture used last as
  // far as the failed device still tells them. False if there is no fallback (any more). Captures
  // and device handed out before are gone.
  bool fail_over();

  // Replays the fallback's last capture on whatever its inputs hold, without commit, every
  // `period`. Never waits for it. To be called between frames.
  void keep_fallback_warm(const Clock& clock, Nanoseconds period);

  // Both devices are warm, see Device::seal().
  Status seal();
  // The engine was made with the fallback's device, because the first one could not be had.
  void start_on_fallback() { fallback_state_ = FallbackState::kActive; }

  // It would not help; its executor is ended.
  void lose_fallback();

  // For the self-test: the fallback's capture for `frames`, or null.
  Capture* fallback_capture(std::span<const FrameBinding> frames);
  Device* fallback_device() { return fallback_.get(); }

  // How far the device has come. memory_ready and the later ones are the caller's to tell.
  Readiness& readiness() { return readiness_; }
  const Readiness& readiness() const { return readiness_; }

  uint32_t threads() const { return options_.threads; }

 private:
  struct Recorded {
    std::vector<FrameBinding> frames;
    std::unique_ptr<Capture> capture;
  };

  Status record_fallback(std::span<const FrameBinding> frames);
  void carry_states_over();
  bool settle_warm_run(const Clock& clock, Nanoseconds patience);

  Model model_;
  std::unique_ptr<Device> device_;
  CaptureOptions options_;          // without frames
  std::vector<Recorded> recorded_;  // last used last; goes before the device
  std::unique_ptr<Device> fallback_;
  CaptureOptions fallback_options_;
  std::vector<Recorded> fallback_recorded_;  // goes before its device
  FallbackState fallback_state_ = FallbackState::kNone;
  Submission* warm_run_ = nullptr;  // of the fallback, in flight
  Nanoseconds warm_since_ = 0;
  Readiness readiness_;
};

}  // namespace modeld
