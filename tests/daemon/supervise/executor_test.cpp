// Executors: the same answers as inside the process, and every way they can fail.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/engine/frame_runner.h"
#include "daemon/supervise/executor_device.h"
#include "daemon/supervise/shared_memory.h"
#include "daemon/validate/output_validator.h"
#include "runtime/reference/reference_device.h"
#include "tests/daemon/supervise/hanging_device.h"
#include "tests/daemon/support/fake_camera.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {
namespace {

using supervise::ExecutorDevice;
using supervise::ExecutorKind;
using supervise::Spawner;

constexpr Nanoseconds kPatience = 60 * kSecond;  // for a loaded machine

Deadline soon() {
  return Deadline::after(Clock::real(), kPatience);
}

Nv12Layout layout() {
  return *Nv12Layout::openpilot(1344, 760);
}

CaptureOptions framed(InputMode mode = InputMode::kUpload) {
  CaptureOptions options;
  options.frames = {{"camera", layout(), mode}};
  return options;
}

void stage(Capture& capture, size_t input, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  ASSERT_EQ(capture.staging(input).size(), bytes.size());
  std::memcpy(capture.staging(input).data(), bytes.data(), bytes.size());
}

constexpr std::array<float, 9> kMatrix = {40, 0, 100, 0, 40, 100, 0, 0, 1};

void stage_picture(std::span<std::byte> to, uint32_t seed) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = std::byte((i * 31 + seed * 17) >> 3 & 0xff);
}

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() {
    auto* const switches = &*switches_;
    supervise::ExecutorOptions options;
    options.open = [switches](ExecutorKind kind) { return open_hanging_work(*switches, kind); };
    auto started = Spawner::start([options](supervise::ExecutorStart start) {
      return supervise::run_executor(std::move(start), options);
    });
    EXPECT_TRUE(started.ok());
    spawner_ = std::move(started).value();
  }

  ExecutorDevice::Options options(ExecutorKind kind = ExecutorKind::kPrimary) {
    ExecutorDevice::Options made;
    made.kind = kind;
    made.digest = "digest";
    made.mirror_states = kind == ExecutorKind::kPrimary;
    made.deadlines = deadlines_;
    return made;
  }
  std::unique_ptr<ExecutorDevice> open(ExecutorKind kind = ExecutorKind::kPrimary) {
    auto opened = ExecutorDevice::open(*spawner_, options(kind));
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    return std::move(opened).value();
  }
  std::unique_ptr<Capture> record(Device& device, InputMode mode = InputMode::kUpload) {
    const Model model = tiny_model();
    auto capture = device.record(model.program, *model.weights, framed(mode));
    EXPECT_TRUE(capture.ok()) << to_string(capture.error());
    return std::move(capture).value();
  }
  // One frame, not committed.
  Status run(Capture& capture, uint32_t seed, Deadline deadline = soon()) {
    if (!capture.staging(0).empty()) stage_picture(capture.staging(0), seed);
    stage(capture, 1, kMatrix);
    stage(capture, 2, std::vector<float>(4, static_cast<float>(seed)));
    MODELD_ASSIGN(Submission* const submission, capture.replay());
    return submission->wait(deadline);
  }

  SharedSwitches switches_;
  supervise::ExecutorDeadlines deadlines_{kPatience, kPatience, kPatience};
  std::unique_ptr<Spawner> spawner_;
};

TEST_F(ExecutorTest, AnswersAsADeviceInsideTheProcessDoes) {
  const auto device = open();
  EXPECT_EQ(device->capabilities().backend, "reference");
  EXPECT_EQ(device->capabilities().memory.size(),
            open_reference_device()->capabilities().memory.size());
  const auto remote = record(*device);
  const auto local_device = open_reference_device();
  const auto local = record(*local_device);
  ASSERT_EQ(remote->inputs().size(), local->inputs().size());
  EXPECT_EQ(remote->inputs()[0].bytes, local->inputs()[0].bytes);
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    ASSERT_TRUE(run(*remote, seed).ok());
    ASSERT_TRUE(run(*local, seed).ok());
    EXPECT_EQ(floats(remote->output(0)), floats(local->output(0))) << seed;
    if (seed % 3 == 0) continue;  // not committed: the next starts from the same state
    ASSERT_TRUE(remote->commit().ok());
    ASSERT_TRUE(local->commit().ok());
  }
  std::vector<std::byte> a(16), b(16);
  ASSERT_TRUE(remote->read_state(0, a).ok());
  ASSERT_TRUE(local->read_state(0, b).ok());
  EXPECT_EQ(a, b);
  const std::vector<float> given = {1, 2, 3, 4};
  ASSERT_TRUE(remote->write_state(0, std::as_bytes(std::span(given))).ok());
  ASSERT_TRUE(remote->read_state(0, a).ok());
  EXPECT_EQ(floats(a), given);
  ASSERT_TRUE(remote->reset_state().ok());
  ASSERT_TRUE(local->reset_state().ok());
  ASSERT_TRUE(run(*remote, 5).ok());
  ASSERT_TRUE(run(*local, 5).ok());
  EXPECT_EQ(floats(remote->output(0)), floats(local->output(0)));
}

TEST_F(ExecutorTest, OutputStaysWhileTheNextReplayRuns) {
  const auto device = open();
  const auto capture = record(*device);
  ASSERT_TRUE(run(*capture, 1).ok());
  const auto first = capture->output(0);
  const auto copy = floats(first);
  ASSERT_TRUE(run(*capture, 9).ok());
  EXPECT_EQ(floats(first), copy);
  EXPECT_NE(floats(capture->output(0)), copy);
}

// Frames by descriptor: the executor reads the camera's pages, nothing is copied.
TEST_F(ExecutorTest, CameraBuffersGoByDescriptor) {
  const auto device = open();
  const auto bound = record(*device, InputMode::kBind);
  const auto uploaded = record(*device);
  EXPECT_TRUE(bound->staging(0).empty());
  auto camera = supervise::SharedMemory::create("camera", layout().length);
  ASSERT_TRUE(camera.ok());
  auto buffer = device->import_shared(camera->fd(), camera->bytes());
  ASSERT_TRUE(buffer.ok()) << to_string(buffer.error());
  EXPECT_EQ((*buffer)->size(), layout().length);
  ASSERT_TRUE(bound->bind(0, **buffer).ok());
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    stage_picture(camera->bytes(), seed);
    ASSERT_TRUE(run(*bound, seed).ok());
    ASSERT_TRUE(run(*uploaded, seed).ok());
    EXPECT_EQ(floats(bound->output(0)), floats(uploaded->output(0)));
  }
  // A file that is too short would fault when it is read.
  const UniqueFd small(memfd_create("short", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(small.get(), 4096), 0);
  const auto refused = device->import_shared(small.get(), camera->bytes());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("4096"), std::string::npos) << to_string(refused.error());
  EXPECT_FALSE(device->import_host(camera->bytes()).ok());
}

TEST_F(ExecutorTest, AnotherArtifactIsRefused) {
  auto wrong = options();
  wrong.digest = "another";
  const auto opened = ExecutorDevice::open(*spawner_, wrong);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kRefused);
}

TEST_F(ExecutorTest, SandboxStagesRunBeforeTheArtifactAndWhenWarm) {
  auto* const switches = &*switches_;
  supervise::ExecutorOptions options_with;
  options_with.open = [switches](ExecutorKind kind) -> Result<supervise::ExecutorWork> {
    if (switches->replays[1] != 1) return Error(ErrorCode::kInternal, "stage 1 has not run");
    return open_hanging_work(*switches, kind);
  };
  options_with.sandbox.before_artifact = [switches](ExecutorKind) -> Status {
    ++switches->replays[1];
    return {};
  };
  options_with.sandbox.when_warm = [](ExecutorKind) -> Status {
    return Error(ErrorCode::kPermission, "stage 2 refused");
  };
  auto spawner = Spawner::start([options_with](supervise::ExecutorStart start) {
    return supervise::run_executor(std::move(start), options_with);
  });
  ASSERT_TRUE(spawner.ok());
  auto device = ExecutorDevice::open(**spawner, options());
  ASSERT_TRUE(device.ok()) << to_string(device.error());
  const Status sealed = (*device)->seal();
  ASSERT_FALSE(sealed.ok());
  EXPECT_EQ(sealed.error().code, ErrorCode::kPermission);
}

// Field fault 21: a call that never returns, wherever it is.
TEST_F(ExecutorTest, FieldFault21HangWhileLoadingIsEndedAtItsDeadline) {
  deadlines_.load = 50 * kMillisecond;
  switches_->hangs[0] = Switches::kOpen;
  const auto opened = ExecutorDevice::open(*spawner_, options());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kDeadline);
  EXPECT_NE(to_string(opened.error()).find("opening artifact and device"), std::string::npos)
      << to_string(opened.error());
}

TEST_F(ExecutorTest, FieldFault21HangWhileRecordingIsEndedAtItsDeadline) {
  deadlines_.load = 50 * kMillisecond;
  const auto hasty = open();
  switches_->hangs[0] = Switches::kRecord;
  const Model model = tiny_model();
  const auto capture = hasty->record(model.program, *model.weights, framed());
  ASSERT_FALSE(capture.ok());
  EXPECT_EQ(capture.error().code, ErrorCode::kDeadline);
  // And from then on it is gone.
  switches_->hangs[0] = Switches::kNowhere;
  const auto again = hasty->record(model.program, *model.weights, framed());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kDeviceLost);
}

TEST_F(ExecutorTest, FieldFault21HangInAReplayCanBeGivenUp) {
  const auto device = open();
  const auto capture = record(*device);
  ASSERT_TRUE(run(*capture, 1).ok());
  ASSERT_TRUE(capture->commit().ok());
  std::vector<std::byte> state(16);
  ASSERT_TRUE(capture->read_state(0, state).ok());
  switches_->hangs[0] = Switches::kReplay;
  const Status waited = run(*capture, 2, Deadline::after(Clock::real(), 20 * kMillisecond));
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().code, ErrorCode::kDeadline);
  EXPECT_TRUE(device->abandon());
  const auto replayed = capture->replay();
  ASSERT_FALSE(replayed.ok());
  // What it had committed is still known.
  std::vector<std::byte> mirrored(16);
  ASSERT_TRUE(capture->read_state(0, mirrored).ok());
  EXPECT_EQ(mirrored, state);
}

TEST_F(ExecutorTest, FieldFault21HangBetweenFramesAndInTearDownIsEndedAtItsDeadline) {
  deadlines_.answer = deadlines_.tear_down = 50 * kMillisecond;
  {
    const auto device = open();
    auto capture = record(*device);
    ASSERT_TRUE(run(*capture, 1).ok());
    switches_->hangs[0] = Switches::kCommit;
    // A commit is not waited for: the next call is told.
    ASSERT_TRUE(capture->commit().ok());
    const Status next = run(*capture, 2);
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.error().code, ErrorCode::kDeadline);
    switches_->hangs[0] = Switches::kNowhere;
    EXPECT_EQ(capture->reset_state().error().code, ErrorCode::kDeviceLost);
  }
  const auto device = open();
  auto capture = record(*device);
  switches_->hangs[0] = Switches::kTearDown;
  capture.reset();  // returns
  const Model model = tiny_model();
  EXPECT_EQ(device->record(model.program, *model.weights, framed()).error().code,
            ErrorCode::kDeviceLost);
}

TEST_F(ExecutorTest, FieldFault20DeadExecutorIsALostDeviceAndSaysHowItEnded) {
  for (const bool killed : {true, false}) {
    const auto device = open();
    const auto capture = record(*device);
    ASSERT_TRUE(run(*capture, 1).ok());
    if (killed) {
      ASSERT_EQ(kill(device->pid(), SIGKILL), 0);
    } else {
      switches_->exits[0] = Switches::kReplay;
    }
    const Status waited = run(*capture, 2);
    switches_->exits[0] = Switches::kNowhere;
    ASSERT_FALSE(waited.ok());
    EXPECT_EQ(waited.error().code, ErrorCode::kDeviceLost);
    EXPECT_NE(waited.error().message.find("primary executor ended by itself"), std::string::npos)
        << to_string(waited.error());
    // The frame does not wait for it, but it is known soon.
    std::optional<std::string> how;
    const Deadline deadline = soon();
    while (!how && !deadline.passed(Clock::real())) how = spawner_->end_of(device->pid());
    EXPECT_EQ(how, killed ? "signal 9" : "exit code 77");
  }
}

TEST_F(ExecutorTest, ASpawnerThatIsGoneIsAnError) {
  const auto device = open();
  ASSERT_EQ(kill(spawner_->pid(), SIGKILL), 0);
  const auto opened = ExecutorDevice::open(*spawner_, options());
  EXPECT_FALSE(opened.ok());
  // Its executors go with it.
  const auto ended = [&] {
    const Model model = tiny_model();
    const auto capture = device->record(model.program, *model.weights, framed());
    return !capture.ok() && capture.error().code == ErrorCode::kDeviceLost;
  };
  const Deadline deadline = soon();
  while (!ended() && !deadline.passed(Clock::real())) {
  }
  EXPECT_TRUE(ended());
}

// The daemon's side of a failure: one invalid answer, then the fallback with the same history.
class FailOver : public ExecutorTest {
 protected:
  void start(bool with_fallback = true) {
    runner_.reset();
    engine_ = std::make_unique<Engine>(tiny_model(), open(), CaptureOptions{});
    if (with_fallback) engine_->set_fallback(open(ExecutorKind::kFallback), CaptureOptions{});
    runner_ = std::make_unique<FrameRunner>(*engine_, Clock::real(), inference_);
  }
  RunOutcome frame(uint32_t id) {
    camera_.send(id, id * 50'000'000u, id);
    frame_ = std::move(*stream_->receive(Deadline{0})).value();
    const std::array<FrameRunner::Picture, 1> pictures = {
        {{0, stream_.get(), &frame_, FrameInput::kUpload}}};
    const std::array<float, 4> x = {1, 2, 3, static_cast<float>(id)};
    const std::array<FrameRunner::Vector, 2> vectors = {{{1, kMatrix}, {2, x}}};
    FrameTimes times;
    return runner_->run(pictures, vectors, times);
  }
  // A frame that is answered and committed; what it answers.
  std::vector<float> good(uint32_t id) {
    const RunOutcome outcome = frame(id);
    EXPECT_EQ(outcome.kind, RunOutcome::Kind::kCompleted) << runner_->detail();
    if (outcome.kind != RunOutcome::Kind::kCompleted) return {};
    auto values = floats(outcome.capture->output(0));
    EXPECT_TRUE(outcome.capture->commit().ok());
    runner_->judged(InvalidReason::kNone);
    EXPECT_FALSE(runner_->recover());
    return values;
  }
  // What a device that never fails answers to the last of these frames.
  std::vector<float> undisturbed(const std::vector<uint32_t>& ids) {
    auto engine = std::make_unique<Engine>(tiny_model(), open_reference_device(), CaptureOptions{});
    std::swap(engine_, engine);
    auto runner = std::make_unique<FrameRunner>(*engine_, Clock::real(), kPatience);
    std::swap(runner_, runner);
    std::vector<float> last;
    for (const uint32_t id : ids) last = good(id);
    std::swap(runner_, runner);
    std::swap(engine_, engine);
    return last;
  }

  Nanoseconds inference_ = kPatience;
  ManualClock camera_clock_;
  FakeCamera camera_{layout(), 4, camera_clock_};
  std::unique_ptr<ipc::FrameStream> stream_ = camera_.stream(true);
  ipc::Frame frame_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<FrameRunner> runner_;
};

TEST_F(FailOver, FieldFault24HangIsAnsweredInvalidAndTheFallbackGoesOnWithTheHistory) {
  inference_ = 300 * kMillisecond;
  start();
  for (uint32_t id = 1; id <= 5; ++id) good(id);
  EXPECT_EQ(engine_->fallback(), FallbackState::kWarm);
  switches_->hangs[0] = Switches::kReplay;
  const RunOutcome hung = frame(6);
  const Nanoseconds detected = Clock::real().monotonic();
  ASSERT_EQ(hung.kind, RunOutcome::Kind::kInvalid);
  EXPECT_EQ(hung.invalid, InvalidReason::kDeadline);
  EXPECT_TRUE(runner_->recover());
  EXPECT_EQ(engine_->fallback(), FallbackState::kActive);
  const auto answer = good(7);
  RecordProperty("us_from_detection_to_valid",
                 std::to_string((Clock::real().monotonic() - detected) / 1000));
  EXPECT_TRUE(runner_->fatal().ok());
  EXPECT_EQ(answer, undisturbed({1, 2, 3, 4, 5, 7}));
  // One way: a second failure ends the loop.
  switches_->loses_device[1] = 1;
  EXPECT_EQ(frame(8).invalid, InvalidReason::kDeviceLost);
  EXPECT_FALSE(runner_->recover());
  EXPECT_EQ(runner_->fatal().error().code, ErrorCode::kDeviceLost);
}

TEST_F(FailOver, FieldFault24LostDeviceAndDeadExecutorAreFollowedByTheFallback) {
  for (const bool dies : {true, false}) {
    start();
    good(1);
    (dies ? switches_->exits : switches_->loses_device)[0] =
        dies ? static_cast<uint32_t>(Switches::kReplay) : 1u;
    EXPECT_EQ(frame(2).invalid, InvalidReason::kDeviceLost);
    EXPECT_TRUE(runner_->recover());
    EXPECT_FALSE(good(3).empty());
    switches_->exits[0] = switches_->loses_device[0] = 0;
  }
}

TEST_F(FailOver, FieldFault24InvalidOutputsInARowAreFollowedByTheFallback) {
  start();
  good(1);
  for (uint32_t id = 2; id <= 4; ++id) {
    EXPECT_FALSE(runner_->recover());
    EXPECT_EQ(frame(id).kind, RunOutcome::Kind::kCompleted);
    runner_->judged(InvalidReason::kOutputNotFinite);
  }
  EXPECT_TRUE(runner_->recover());
  EXPECT_EQ(good(5), undisturbed({1, 5}));
}

TEST_F(FailOver, WithoutAFallbackALostDeviceEndsTheLoop) {
  start(false);
  good(1);
  switches_->loses_device[0] = 1;
  EXPECT_EQ(frame(2).invalid, InvalidReason::kDeviceLost);
  EXPECT_FALSE(runner_->recover());
  EXPECT_FALSE(runner_->fatal().ok());
}

TEST_F(FailOver, FallbackIsKeptWarmAndALostOneIsCold) {
  start();
  good(1);
  EXPECT_EQ(switches_->replays[1], 0u);
  const Deadline deadline = soon();
  while (switches_->replays[1] < 3 && !deadline.passed(Clock::real())) {
    engine_->keep_fallback_warm(Clock::real(), kMillisecond);
    EXPECT_EQ(engine_->fallback(), FallbackState::kWarm);
  }
  EXPECT_EQ(switches_->replays[1], 3u);
  switches_->exits[1] = Switches::kReplay;
  while (engine_->fallback() == FallbackState::kWarm && !deadline.passed(Clock::real())) {
    engine_->keep_fallback_warm(Clock::real(), kMillisecond);
  }
  EXPECT_EQ(engine_->fallback(), FallbackState::kCold);
  good(2);
}

TEST_F(FailOver, FallbackTakesOverWhenRecordingTheFirstDeviceHangs) {
  deadlines_.load = 2 * kSecond;
  start();
  switches_->hangs[0] = Switches::kRecord;
  EXPECT_EQ(frame(1).kind, RunOutcome::Kind::kInvalid);
  EXPECT_TRUE(engine_->fail_over());
  runner_ = std::make_unique<FrameRunner>(*engine_, Clock::real(), inference_);
  EXPECT_EQ(good(2), undisturbed({2}));
}

// What can go wrong while driving, and how the frames are answered until the fallback answers.
struct RunFault {
  const char* name;
  std::function<void(Switches&)> plant;
  InvalidReason reason;
  uint32_t invalid_frames;
};

class FieldFault24 : public FailOver, public testing::WithParamInterface<RunFault> {};

TEST_P(FieldFault24, EveryFrameIsAnsweredAndTheFallbackTakesOver) {
  inference_ = 300 * kMillisecond;
  deadlines_.answer = 300 * kMillisecond;
  start();
  const OutputValidator validator(engine_->contract().outputs);
  good(1);
  good(2);
  GetParam().plant(*switches_);
  uint32_t id = 2;
  for (uint32_t i = 0; i < GetParam().invalid_frames; ++i) {
    EXPECT_EQ(engine_->fallback(), FallbackState::kWarm);
    const RunOutcome outcome = frame(++id);
    InvalidReason answered = outcome.invalid;
    if (outcome.kind == RunOutcome::Kind::kCompleted) {
      answered = validator.check(*outcome.capture, *outcome.report).reason;
    }
    EXPECT_EQ(to_string(answered), to_string(GetParam().reason)) << runner_->detail();
    runner_->judged(answered);
    EXPECT_EQ(runner_->recover(), i + 1 == GetParam().invalid_frames);
  }
  EXPECT_EQ(engine_->fallback(), FallbackState::kActive);
  const auto answer = good(++id);
  EXPECT_EQ(answer, undisturbed({1, 2, id}));
}

INSTANTIATE_TEST_SUITE_P(
    Run, FieldFault24,
    testing::Values(RunFault{"TimeOut", [](Switches& s) { s.hangs[0] = Switches::kReplay; },
                             InvalidReason::kDeadline, 1},
                    RunFault{"ExecutorDies", [](Switches& s) { s.exits[0] = Switches::kReplay; },
                             InvalidReason::kDeviceLost, 1},
                    RunFault{"DeviceLost", [](Switches& s) { s.loses_device[0] = 1; },
                             InvalidReason::kDeviceLost, 1},
                    RunFault{"NotANumber", [](Switches& s) { s.spoils[0] = 1; },
                             InvalidReason::kOutputNotFinite, FrameRunner::kMostBadOutputs}),
    [](const auto& one) { return std::string(one.param.name); });

// Not a test of speed: what isolation costs, printed for whoever asks.
TEST_F(ExecutorTest, AddedLatencyIsMeasured) {
  const auto device = open();
  const auto remote = record(*device);
  const auto local_device = open_reference_device();
  const auto local = record(*local_device);
  const auto times_of = [&](Capture& capture) {
    std::vector<Nanoseconds> times;
    for (uint32_t i = 0; i < 500; ++i) {
      usleep(200);  // frames do not follow each other at once
      const Nanoseconds begin = Clock::real().monotonic();
      auto submission = capture.replay();
      EXPECT_TRUE(submission.ok() && (*submission)->wait(soon()).ok());
      EXPECT_TRUE(capture.commit().ok());
      times.push_back(Clock::real().monotonic() - begin);
    }
    std::sort(times.begin(), times.end());
    return times;
  };
  const auto inside = times_of(*local);
  const auto outside = times_of(*remote);
  const auto tell = [&](const char* what, size_t at) {
    RecordProperty(std::string(what) + "_inside_us", std::to_string(inside[at] / 1000));
    RecordProperty(std::string(what) + "_outside_us", std::to_string(outside[at] / 1000));
    std::printf("replay and commit, %s: %.1f us inside, %.1f us in an executor\n", what,
                static_cast<double>(inside[at]) / 1000, static_cast<double>(outside[at]) / 1000);
  };
  tell("p50", 250);
  tell("p99", 495);
}

}  // namespace
}  // namespace modeld::test
