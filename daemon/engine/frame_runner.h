// One frame through the capture: torn-frame checks, pixels in, replay, wait. Commits nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/daemon_config.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/import_cache.h"
#include "daemon/health/frame_counters.h"
#include "daemon/health/frame_phases.h"
#include "ipc/frames/frame_source.h"
#include "ipc/frames/read_bracket.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// What became of a frame. Exactly one of: dropped (no message may be made of it), invalid (to be
// answered with an invalid message), or completed with outputs to look at.
struct RunOutcome {
  enum class Kind : uint8_t { kCompleted, kDropped, kInvalid } kind = Kind::kCompleted;
  DropReason drop = DropReason::kOverrun;
  size_t picture = 0;  // kDropped: which one
  InvalidReason invalid = InvalidReason::kNone;
  Capture* capture = nullptr;  // kCompleted
  const ReplayReport* report = nullptr;
};

// Steady state (layouts and buffers seen before) allocates nothing. Not thread-safe; must not
// outlive the engine.
class FrameRunner {
 public:
  // A frame for input `input` (position in contract.inputs). Pictures of one runner always come in
  // the same order and number.
  struct Picture {
    size_t input = 0;
    ipc::FrameStream* stream = nullptr;
    const ipc::Frame* frame = nullptr;
    FrameInput mode = FrameInput::kUpload;
  };
  struct Vector {
    size_t input = 0;
    std::span<const float> values;
  };

  FrameRunner(Engine& engine, const Clock& clock, Nanoseconds inference_deadline);

  // Upload, queue, warp, model, download and the device's share of cpuWait in `times` are filled as
  // far as they happened. A picture may stand for several inputs (one camera for two images).
  RunOutcome run(std::span<const Picture> pictures, std::span<const Vector> vectors,
                 FrameTimes& times);

  // The error behind the last kInvalid outcome, for people. Empty after a completed run.
  const std::string& detail() const { return detail_; }

  // What the loop made of a completed run. Outputs that may not be believed, so many frames in a
  // row, are a failure of the device: kMostBadOutputs if another one can take over at once,
  // kBadOutputsBeforeRestart if it can be started again, which costs seconds without any answer;
  // never if neither is possible.
  static constexpr uint32_t kMostBadOutputs = 3;
  static constexpr uint32_t kBadOutputsBeforeRestart = 20;
  void judged(InvalidReason reason);

  // To be called when the frame has been answered: lets the fallback take over if the device has
  // failed. True if it just did.
  bool recover();

  // Set once the device cannot go on and nobody takes over: lost, or silent for kGiveUpAfter. The
  // loop ends with it.
  static constexpr Nanoseconds kGiveUpAfter = 2 * kSecond;
  const Status& fatal() const { return fatal_; }

  // The engine's device was replaced after fatal(): frames can be run again.
  void resume();

  // Time of the last run spent blocked for the device, ns; 0 if asked again.
  Nanoseconds take_blocked() { return std::exchange(blocked_, 0); }

  // How the pixels of the pictures travel; nothing before the first run. If one of them has to be
  // copied, all count as copied.
  std::optional<InputMode> mode() const;
  // Bytes copied by the host for the pictures of the last run.
  uint64_t copied_bytes() const { return copied_bytes_; }

 private:
  bool settle_pending();
  Status prepare(std::span<const Picture> pictures);
  bool layouts_known(std::span<const Picture> pictures) const;
  InputMode choose_mode(const Picture& picture, size_t index);
  std::optional<RunOutcome> begin_reads(std::span<const Picture> pictures,
                                        ipc::ReadBracket& reads) const;
  std::optional<RunOutcome> torn(std::span<const Picture> pictures) const;
  Status bring_pixels(std::span<const Picture> pictures);
  void write_vectors(std::span<const Vector> vectors);
  RunOutcome replay(FrameTimes& times);
  RunOutcome fail(Error error);

  Engine& engine_;
  const Clock& clock_;
  const Nanoseconds inference_deadline_;
  Capture* capture_ = nullptr;
  std::vector<FrameBinding> frames_;  // of capture_
  std::vector<std::unique_ptr<ImportCache>> imports_;
  Submission* pending_ = nullptr;  // in flight past its deadline
  Nanoseconds pending_since_ = 0;
  uint64_t copied_bytes_ = 0;
  Nanoseconds blocked_ = 0;
  std::string detail_;
  std::optional<Error> failure_;  // of the device, until recover()
  uint32_t bad_outputs_ = 0;      // in a row
  Status fatal_;
};

// Durations of a replay's phases from its report: queue, warp, model, download (upload is added,
// because the device may do part of it). Phases a device does not tell stay 0.
void add_device_times(const ReplayReport& report, FrameTimes& times);

}  // namespace modeld
