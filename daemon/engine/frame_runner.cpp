#include "daemon/engine/frame_runner.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace modeld {
namespace {

// What the device is told about a picture: a copy has nothing behind its rows.
Nv12Layout layout_for(const Nv12Layout& layout, InputMode mode) {
  return mode == InputMode::kUpload ? layout.copied() : layout;
}

Nanoseconds length(const PhaseTimes& times) {
  return times.started != 0 && times.ended > times.started ? times.ended - times.started : 0;
}

// History steps run before and after the network's: together they are one stretch of time, which
// the warps may overlap at its start.
Nanoseconds model_length(const PhaseTimes& history, const PhaseTimes& model,
                         const PhaseTimes& warp) {
  PhaseTimes both = model;
  if (history.started != 0) {
    both.started = both.started == 0 ? history.started : std::min(both.started, history.started);
    both.ended = std::max(both.ended, history.ended);
  }
  if (warp.ended != 0 && warp.ended < both.ended) both.started = std::max(both.started, warp.ended);
  return length(both);
}

// Work complete -> the waiting thread runs again.
Nanoseconds wake_up_delay(const ReplayReport& report, Nanoseconds woken) {
  Nanoseconds ended = 0;
  for (const PhaseTimes& phase : report.phases) ended = std::max(ended, phase.ended);
  return ended != 0 && woken > ended ? woken - ended : 0;
}

}  // namespace

void add_device_times(const ReplayReport& report, FrameTimes& times) {
  const auto phase = [&](Phase which) { return report.phases[static_cast<size_t>(which)]; };
  Nanoseconds queued = 0;
  Nanoseconds started = 0;
  for (const PhaseTimes& one : report.phases) {
    if (one.started == 0) continue;
    if (queued == 0 || one.queued < queued) queued = one.queued;
    if (started == 0 || one.started < started) started = one.started;
  }
  if (queued != 0 && started > queued) times[FramePhase::kQueue] += started - queued;
  times[FramePhase::kUpload] += length(phase(Phase::kUpload));
  times[FramePhase::kWarp] += length(phase(Phase::kWarp));
  times[FramePhase::kModel] +=
      model_length(phase(Phase::kHistory), phase(Phase::kModel), phase(Phase::kWarp));
  times[FramePhase::kDownload] += length(phase(Phase::kDownload));
  times[FramePhase::kCpuWait] += report.cpu_wait;
}

FrameRunner::FrameRunner(Engine& engine, const Clock& clock, Nanoseconds inference_deadline)
    : engine_(engine), clock_(clock), inference_deadline_(inference_deadline) {}

RunOutcome FrameRunner::fail(Error error) {
  RunOutcome outcome;
  outcome.kind = RunOutcome::Kind::kInvalid;
  outcome.invalid = InvalidReason::kDeviceError;
  if (error.code == ErrorCode::kDeadline) outcome.invalid = InvalidReason::kDeadline;
  if (error.code == ErrorCode::kDeviceLost) {
    outcome.invalid = InvalidReason::kDeviceLost;
    failure_ = error;
  }
  detail_ = to_string(error);
  return outcome;
}

void FrameRunner::judged(InvalidReason reason) {
  if (health_reason(reason) != HealthReason::kOutputInvalid) {
    bad_outputs_ = 0;
    return;
  }
  const bool replaceable = engine_.fallback() == FallbackState::kWarm;
  const uint32_t most = replaceable ? kMostBadOutputs : kBadOutputsBeforeRestart;
  if (++bad_outputs_ < most || (!replaceable && !engine_.restartable())) return;
  bad_outputs_ = 0;
  failure_ = Error(ErrorCode::kCheckFailed,
                   "invalid outputs in " + std::to_string(most) + " frames in a row");
}

void FrameRunner::resume() {
  fatal_ = {};
  failure_.reset();
  bad_outputs_ = 0;
}

bool FrameRunner::recover() {
  if (!failure_) return false;
  const Error failure = *std::exchange(failure_, std::nullopt);
  capture_ = nullptr;
  pending_ = nullptr;
  frames_.clear();
  imports_.clear();
  if (engine_.fail_over()) return true;
  if (fatal_.ok()) fatal_ = failure;
  return false;
}

bool FrameRunner::layouts_known(std::span<const Picture> pictures) const {
  if (capture_ == nullptr || pictures.size() != frames_.size()) return false;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (frames_[i].layout != layout_for(pictures[i].frame->layout(), frames_[i].mode)) return false;
  }
  return true;
}

std::optional<InputMode> FrameRunner::mode() const {
  if (frames_.empty()) return std::nullopt;
  const bool all_bound = std::all_of(frames_.begin(), frames_.end(), [](const FrameBinding& frame) {
    return frame.mode == InputMode::kBind;
  });
  return all_bound ? InputMode::kBind : InputMode::kUpload;
}

InputMode FrameRunner::choose_mode(const Picture& picture, size_t index) {
  if (picture.mode == FrameInput::kUpload) return InputMode::kUpload;
  // Its captures are recorded that way, and recording takes long.
  if (engine_.fallback() == FallbackState::kActive) return InputMode::kUpload;
  // Asked for and possible are different things: the first buffer decides.
  return imports_[index]->import(*picture.frame).ok() ? InputMode::kBind : InputMode::kUpload;
}

Status FrameRunner::prepare(std::span<const Picture> pictures) {
  if (layouts_known(pictures)) return {};
  capture_ = nullptr;
  frames_.clear();
  while (imports_.size() < pictures.size()) {
    imports_.push_back(std::make_unique<ImportCache>(engine_.device()));
  }
  for (size_t i = 0; i < pictures.size(); ++i) {
    const InputMode mode = choose_mode(pictures[i], i);
    frames_.push_back({engine_.contract().inputs[pictures[i].input].name,
                       layout_for(pictures[i].frame->layout(), mode), mode});
  }
  MODELD_ASSIGN(capture_, engine_.capture(frames_));
  return {};
}

std::optional<RunOutcome> FrameRunner::begin_reads(std::span<const Picture> pictures,
                                                   ipc::ReadBracket& reads) const {
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (reads.begin(*pictures[i].frame->buffer).ok()) continue;
    RunOutcome outcome;
    outcome.kind = RunOutcome::Kind::kDropped;
    outcome.drop = DropReason::kUnreadable;
    outcome.picture = i;
    return outcome;
  }
  return std::nullopt;
}

std::optional<RunOutcome> FrameRunner::torn(std::span<const Picture> pictures) const {
  for (size_t i = 0; i < pictures.size(); ++i) {
    const ipc::FrameCheck check = pictures[i].stream->check(*pictures[i].frame);
    if (check == ipc::FrameCheck::kIntact) continue;
    RunOutcome outcome;
    outcome.kind = RunOutcome::Kind::kDropped;
    outcome.drop =
        check == ipc::FrameCheck::kUnreadable ? DropReason::kUnreadable : DropReason::kOverrun;
    outcome.picture = i;
    return outcome;
  }
  return std::nullopt;
}

Status FrameRunner::bring_pixels(std::span<const Picture> pictures) {
  copied_bytes_ = 0;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const Picture& picture = pictures[i];
    if (frames_[i].mode == InputMode::kUpload) {
      const auto staging = capture_->staging(picture.input);
      const uint64_t bytes = frames_[i].layout.length;
      assert(staging.size() == bytes && picture.frame->pixels().size() >= bytes);
      std::memcpy(staging.data(), picture.frame->pixels().data(), bytes);
      copied_bytes_ += bytes;
    } else {
      MODELD_ASSIGN(Buffer * buffer, imports_[i]->import(*picture.frame));
      MODELD_TRY(capture_->bind(picture.input, *buffer));
    }
  }
  return {};
}

void FrameRunner::write_vectors(std::span<const Vector> vectors) {
  for (const Vector& vector : vectors) {
    const auto staging = capture_->staging(vector.input);
    assert(staging.size() == vector.values.size_bytes());
    std::memcpy(staging.data(), vector.values.data(), vector.values.size_bytes());
  }
}

// A submission that outlived its deadline blocks every further replay until it ends; its outputs
// are never looked at.
bool FrameRunner::settle_pending() {
  if (pending_ == nullptr) return true;
  const Status waited = pending_->wait(Deadline{clock_.monotonic()});
  if (waited.ok() || waited.error().code != ErrorCode::kDeadline) {
    pending_ = nullptr;
    return true;
  }
  if (clock_.monotonic() - pending_since_ > kGiveUpAfter && !failure_) {
    failure_ = Error(ErrorCode::kDeadline, "the device does not finish a frame")
                   .expecting("an answer within 2 s of the deadline", "none");
  }
  return false;
}

RunOutcome FrameRunner::replay(FrameTimes& times) {
  const Nanoseconds begin = clock_.monotonic();
  auto started = capture_->replay();
  if (!started.ok()) return fail(std::move(started).error());
  engine_.readiness().queue_ready = Check::kPassed;
  Submission* const submission = *started;
  const Nanoseconds blocked_from = clock_.monotonic();
  Status waited = submission->wait(Deadline::after(clock_, inference_deadline_));
  const Nanoseconds woken = clock_.monotonic();
  blocked_ = woken - blocked_from;
  if (!waited.ok()) {
    if (waited.error().code == ErrorCode::kDeadline) {
      if (engine_.device().abandon()) {
        failure_ = waited.error();
      } else {
        pending_ = submission;
        pending_since_ = clock_.monotonic();
      }
    }
    return fail(std::move(waited).error());
  }
  engine_.readiness().task_completed = Check::kPassed;
  add_device_times(submission->report(), times);
  times[FramePhase::kCpuWait] += wake_up_delay(submission->report(), woken);
  // A device without timestamps: all that is known is how long it took.
  if (times[FramePhase::kModel] == 0) times[FramePhase::kModel] = clock_.monotonic() - begin;
  RunOutcome outcome;
  outcome.capture = capture_;
  outcome.report = &submission->report();
  return outcome;
}

RunOutcome FrameRunner::run(std::span<const Picture> pictures, std::span<const Vector> vectors,
                            FrameTimes& times) {
  blocked_ = 0;
  if (!settle_pending()) {
    return fail(Error(ErrorCode::kDeadline, "the device still works on an earlier frame"));
  }
  ipc::ReadBracket reads;
  if (const auto dropped = begin_reads(pictures, reads)) return *dropped;
  if (const auto dropped = torn(pictures)) return *dropped;
  const Nanoseconds begin = clock_.monotonic();
  if (auto prepared = prepare(pictures); !prepared.ok()) return fail(std::move(prepared).error());
  if (auto brought = bring_pixels(pictures); !brought.ok()) {
    return fail(std::move(brought).error());
  }
  // Uploaded pixels are ours from here on; they are ours only if nobody wrote meanwhile.
  if (const auto dropped = torn(pictures)) return *dropped;
  write_vectors(vectors);
  times[FramePhase::kUpload] += clock_.monotonic() - begin;

  const bool borrowed = std::any_of(frames_.begin(), frames_.end(), [](const FrameBinding& frame) {
    return frame.mode == InputMode::kBind;
  });
  if (!borrowed) reads.end();
  RunOutcome outcome = replay(times);
  if (outcome.kind != RunOutcome::Kind::kCompleted) return outcome;
  if (borrowed) {
    if (const auto dropped = torn(pictures)) return *dropped;
  }
  detail_.clear();
  return outcome;
}

}  // namespace modeld
