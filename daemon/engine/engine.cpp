#include "daemon/engine/engine.h"

#include <algorithm>
#include <string>
#include <string_view>
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

// A warm run that takes longer than this shows a fallback that would not help.
constexpr Nanoseconds kWarmPatience = 2 * kSecond;

std::string describe(const InputContract& input) {
  return input.name + " (" + std::string(to_string(input.role)) + " '" + input.source + "', " +
         to_string(input.type) + ")";
}

std::string describe(const CameraContract& camera) {
  std::string text = camera.frame_input + " by " + camera.transform_input + " as " + camera.layout +
                     " " + std::to_string(camera.output_size.width) + "x" +
                     std::to_string(camera.output_size.height) + " from";
  for (const FrameSize& size : camera.sizes) {
    text += " " + std::to_string(size.width) + "x" + std::to_string(size.height);
  }
  return text;
}

std::string describe(const OutputContract& output) {
  std::string text = output.name + " (" + to_string(output.type) + ")";
  for (const OutputSlice& slice : output.slices) {
    text += " " + slice.name + "[" + std::to_string(slice.start) + ", " +
            std::to_string(slice.stop) + ") in " + std::to_string(slice.minimum) + ".." +
            std::to_string(slice.maximum) + (slice.varies ? " varying" : "");
  }
  return text;
}

// The first member that differs, for people.
template <typename T>
Status same_list(std::string_view what, const std::vector<T>& wanted, const std::vector<T>& found) {
  for (size_t i = 0; i < std::max(wanted.size(), found.size()); ++i) {
    const std::string a = i < wanted.size() ? describe(wanted[i]) : "none";
    const std::string b = i < found.size() ? describe(found[i]) : "none";
    if (a == b) continue;
    return Error(ErrorCode::kRefused,
                 "the fallback's model differs in its " + std::string(what) + " from the device's")
        .expecting(a, b);
  }
  return {};
}

std::vector<FrameBinding> uploaded(std::span<const FrameBinding> frames) {
  std::vector<FrameBinding> all(frames.begin(), frames.end());
  for (FrameBinding& frame : all) frame = {frame.input, frame.layout.copied(), InputMode::kUpload};
  return all;
}

}  // namespace

Status check_replacement(const Contract& model, const Contract& other) {
  if (model.role != other.role) {
    return Error(ErrorCode::kRefused, "role of the fallback's model")
        .expecting(std::string(to_string(model.role)), std::string(to_string(other.role)));
  }
  MODELD_TRY(same_list("inputs", model.inputs, other.inputs));
  MODELD_TRY(same_list("cameras", model.cameras, other.cameras));
  return same_list("outputs", model.outputs, other.outputs);
}

Engine::Engine(Model model, std::unique_ptr<Device> device, const CaptureOptions& options)
    : model_(std::move(model)), device_(std::move(device)), options_(options) {
  note_device();
}

void Engine::note_device() {
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
  if (fallback_ != nullptr && !record_fallback(frames).ok()) lose_fallback();
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

void Engine::set_fallback(std::unique_ptr<Device> device, const CaptureOptions& options,
                          std::optional<Model> model) {
  fallback_recorded_.clear();
  fallback_ = std::move(device);
  fallback_model_ = std::move(model);
  fallback_options_ = options;
  fallback_state_ = FallbackState::kCold;
}

Status Engine::seal() {
  MODELD_TRY(device_->seal());
  return fallback_ == nullptr ? Status() : fallback_->seal();
}

Status Engine::record_fallback(std::span<const FrameBinding> frames) {
  if (fallback_capture(frames) != nullptr) return {};
  static_cast<void>(settle_warm_run(Clock::real(), kWarmPatience));
  warm_run_ = nullptr;
  if (fallback_recorded_.size() == kKeptCaptures) {
    fallback_recorded_.erase(fallback_recorded_.begin());
  }
  CaptureOptions options = fallback_options_;
  options.frames = uploaded(frames);
  const Model& model = fallback_model();
  MODELD_ASSIGN(auto capture, fallback_->record(model.program, *model.weights, options));
  fallback_recorded_.push_back({std::move(options.frames), std::move(capture)});
  fallback_state_ = FallbackState::kWarm;
  return {};
}

Capture* Engine::fallback_capture(std::span<const FrameBinding> frames) {
  const std::vector<FrameBinding> wanted = uploaded(frames);
  const auto found =
      std::find_if(fallback_recorded_.begin(), fallback_recorded_.end(),
                   [&](const Recorded& known) { return same_frames(known.frames, wanted); });
  return found == fallback_recorded_.end() ? nullptr : found->capture.get();
}

void Engine::lose_fallback() {
  warm_run_ = nullptr;
  if (fallback_ != nullptr) static_cast<void>(fallback_->abandon());
  fallback_recorded_.clear();
  fallback_.reset();
  fallback_state_ = FallbackState::kCold;
}

// True if no warm run is in flight any more.
bool Engine::settle_warm_run(const Clock& clock, Nanoseconds patience) {
  if (warm_run_ == nullptr) return true;
  const Status waited = warm_run_->wait(Deadline::after(clock, patience));
  if (!waited.ok() && waited.error().code == ErrorCode::kDeadline) return false;
  warm_run_ = nullptr;
  if (!waited.ok()) lose_fallback();
  return true;
}

void Engine::keep_fallback_warm(const Clock& clock, Nanoseconds period) {
  if (fallback_state_ != FallbackState::kWarm || fallback_recorded_.empty()) return;
  const Nanoseconds now = clock.monotonic();
  if (!settle_warm_run(clock, 0)) {
    if (now - warm_since_ > kWarmPatience) lose_fallback();
    return;
  }
  if (fallback_state_ != FallbackState::kWarm || now - warm_since_ < period) return;
  warm_since_ = now;
  auto run = fallback_recorded_.back().capture->replay();
  if (run.ok()) {
    warm_run_ = *run;
  } else {
    lose_fallback();
  }
}

// What the network remembers goes with it; a state that cannot be had starts anew.
void Engine::carry_states_over() {
  if (recorded_.empty() || fallback_model_) return;
  Capture* const to = fallback_capture(recorded_.back().frames);
  if (to == nullptr) return;
  const Capture& from = *recorded_.back().capture;
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < from.states().size(); ++i) {
    bytes.resize(from.states()[i].bytes);
    if (!from.read_state(i, bytes).ok() || !to->write_state(i, bytes).ok()) {
      static_cast<void>(to->reset_state());
      return;
    }
  }
}

bool Engine::fail_over() {
  if (fallback_state_ != FallbackState::kWarm) return false;
  if (!settle_warm_run(Clock::real(), kWarmPatience) || fallback_ == nullptr) return false;
  carry_states_over();
  recorded_ = std::move(fallback_recorded_);
  fallback_recorded_.clear();
  device_ = std::move(fallback_);
  if (fallback_model_) model_ = *std::exchange(fallback_model_, std::nullopt);
  options_ = fallback_options_;
  fallback_state_ = FallbackState::kActive;
  readiness_.device_found = Check::kPassed;
  return true;
}

void Engine::replace_device(std::unique_ptr<Device> device) {
  recorded_.clear();
  device_ = std::move(device);
  readiness_ = Readiness();
  note_device();
}

}  // namespace modeld
