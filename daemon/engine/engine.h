// A verified model on an opened device: what turns frames into outputs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
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

// Whether the loops of `model` could go on with `other`: same role, inputs, cameras, outputs and
// slices. kRefused names the first difference.
Status check_replacement(const Contract& model, const Contract& other);

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

  // A second device, which takes over when the first one fails. Its captures are recorded with
  // those of the first (pictures uploaded), and kept warm. `model`, if it is not the first one's,
  // passed check_replacement(). Its states start anew then: what one network remembers another
  // cannot read.
  void set_fallback(std::unique_ptr<Device> device, const CaptureOptions& options,
                    std::optional<Model> model = std::nullopt);
  FallbackState fallback() const { return fallback_state_; }

  // One way: from now on the fallback is the device, with the states of the capture used last as
  // far as the failed device still tells them. False if there is no fallback (any more). Captures
  // and device handed out before are gone; contract() and model() are the fallback's.
  bool fail_over();

  // Another device in the place of a failed one, for the same model; states start anew. Captures
  // and device handed out before are gone.
  void replace_device(std::unique_ptr<Device> device);

  // Whether somebody would start a failed device again, who tells it here.
  void set_restartable(bool restartable) { restartable_ = restartable; }
  // The device may be given up: a fallback would take over, or it would be started again.
  bool restartable() const { return restartable_; }

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
  const Model& fallback_model() const { return fallback_model_ ? *fallback_model_ : model_; }

  // How far the device has come. memory_ready and the later ones are the caller's to tell.
  Readiness& readiness() { return readiness_; }
  const Readiness& readiness() const { return readiness_; }

  uint32_t threads() const { return options_.threads; }

 private:
  struct Recorded {
    std::vector<FrameBinding> frames;
    std::unique_ptr<Capture> capture;
  };

  void note_device();
  Status record_fallback(std::span<const FrameBinding> frames);
  void carry_states_over();
  bool settle_warm_run(const Clock& clock, Nanoseconds patience);

  Model model_;
  std::unique_ptr<Device> device_;
  CaptureOptions options_;          // without frames
  std::vector<Recorded> recorded_;  // last used last; goes before the device
  std::unique_ptr<Device> fallback_;
  std::optional<Model> fallback_model_;  // nothing: model_
  CaptureOptions fallback_options_;
  std::vector<Recorded> fallback_recorded_;  // goes before its device
  FallbackState fallback_state_ = FallbackState::kNone;
  Submission* warm_run_ = nullptr;  // of the fallback, in flight
  Nanoseconds warm_since_ = 0;
  bool restartable_ = false;
  Readiness readiness_;
};

}  // namespace modeld
