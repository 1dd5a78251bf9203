// A verified model on an opened device: what turns frames into outputs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "daemon/health/readiness.h"
#include "runtime/artifact/model.h"
#include "runtime/base/result.h"
#include "runtime/device/capture.h"
#include "runtime/device/device.h"

namespace modeld {

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

  // How far the device has come. memory_ready and the later ones are the caller's to tell.
  Readiness& readiness() { return readiness_; }
  const Readiness& readiness() const { return readiness_; }

  uint32_t threads() const { return options_.threads; }

 private:
  struct Recorded {
    std::vector<FrameBinding> frames;
    std::unique_ptr<Capture> capture;
  };

  Model model_;
  std::unique_ptr<Device> device_;
  CaptureOptions options_;          // without frames
  std::vector<Recorded> recorded_;  // last used last; goes before the device
  Readiness readiness_;
};

}  // namespace modeld
