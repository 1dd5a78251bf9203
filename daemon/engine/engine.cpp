#include "daemon/engine/engine.h"

#include <algorithm>
#include <utility>

namespace modeld {
namespace {

bool same_frame(const FrameBinding& a, const FrameBinding& b) {
  return a.input == b.input && a.layout == b.layout && a.mode == b.mode;
}

// In any order: bindings are named.
bool same_frames(std::span<const FrameBinding> a, std::span<const FrameBinding> b) {
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end(), same_frame);
}

}  // namespace

Engine::Engine(Model model, std::unique_ptr<Device> device, const CaptureOptions& options)
    : model_(std::move(model)), device_(std::move(device)), options_(options) {
  readiness_.device_found = Check::kPassed;
  // Host processors load no firmware of ours or of a driver's.
  readiness_.firmware_verified = device_->capabilities().device_class == DeviceClass::kCpu
                                     ? Check::kNotApplicable
                                     : Check::kUnknown;
}

Result<Capture*> Engine::capture(std::span<const FrameBinding> frames) {
  const auto found = std::find_if(recorded_.begin(), recorded_.end(), [&](const Recorded& known) {
    return same_frames(known.frames, frames);
  });
  if (found != recorded_.end()) {
    std::rotate(found, found + 1, recorded_.end());
    return recorded_.back().capture.get();
  }
  if (recorded_.size() == kKeptCaptures) recorded_.erase(recorded_.begin());
  CaptureOptions options = options_;
  options.frames.assign(frames.begin(), frames.end());
  auto capture = device_->record(model_.program, *model_.weights, options);
  if (!capture.ok()) {
    readiness_.memory_ready = Check::kFailed;
    return std::move(capture).error().in("recording the capture");
  }
  readiness_.memory_ready = Check::kPassed;
  recorded_.push_back({std::move(options.frames), std::move(capture).value()});
  return recorded_.back().capture.get();
}

}  // namespace modeld
