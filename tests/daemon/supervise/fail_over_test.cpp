// A failed executor, seen from the frames: one invalid answer, then the fallback or a restart.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include "daemon/engine/frame_runner.h"
#include "daemon/validate/output_validator.h"
#include "runtime/reference/reference_device.h"
#include "tests/daemon/supervise/executor_fixture.h"
#include "tests/daemon/support/fake_camera.h"

namespace modeld::test {
namespace {

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

// Started again instead: the first answer is that of a device that has just begun.
TEST_F(FailOver, FieldFault20RestartedExecutorAnswersFromTheInitialState) {
  start(false);
  engine_->set_restartable(true);
  good(1);
  good(2);
  switches_->loses_device[0] = 1;
  EXPECT_EQ(frame(3).invalid, InvalidReason::kDeviceLost);
  EXPECT_FALSE(runner_->recover());
  EXPECT_EQ(runner_->fatal().error().code, ErrorCode::kDeviceLost);
  switches_->loses_device[0] = 0;
  EXPECT_TRUE(engine_->device().abandon());
  engine_->replace_device(open());
  runner_->resume();
  EXPECT_TRUE(runner_->fatal().ok());
  EXPECT_EQ(good(4), undisturbed({4}));
}

// A restart costs seconds: invalid outputs bring one later than they bring a fallback, and none
// where nobody would start the executor again.
TEST_F(FailOver, FieldFault27InvalidOutputsForASecondAskForARestart) {
  for (const bool restartable : {true, false}) {
    start(false);
    engine_->set_restartable(restartable);
    good(1);
    for (uint32_t i = 0; i < FrameRunner::kBadOutputsBeforeRestart; ++i) {
      EXPECT_TRUE(runner_->fatal().ok()) << i;
      EXPECT_EQ(frame(2 + i).kind, RunOutcome::Kind::kCompleted);
      runner_->judged(InvalidReason::kOutputNotFinite);
      EXPECT_FALSE(runner_->recover());
    }
    EXPECT_EQ(runner_->fatal().ok(), !restartable);
  }
}

// Another model as the fallback: its own answers, from its own initial state.
TEST_F(FailOver, FallbackWithItsOwnModelStartsItsOwnHistory) {
  start(false);
  Model other = tiny_model();
  other.contract.name = "other";
  engine_->set_fallback(open(ExecutorKind::kFallback), CaptureOptions{}, std::move(other));
  good(1);
  good(2);
  EXPECT_EQ(engine_->contract().name, tiny_model().contract.name);
  switches_->loses_device[0] = 1;
  EXPECT_EQ(frame(3).invalid, InvalidReason::kDeviceLost);
  EXPECT_TRUE(runner_->recover());
  EXPECT_EQ(engine_->contract().name, "other");
  EXPECT_EQ(good(4), undisturbed({4}));
}

TEST(CheckReplacement, NamesWhatDiffers) {
  const Contract model = tiny_model().contract;
  Contract other = model;
  other.name = "smaller";
  other.precision = Precision::kBFloat16;
  EXPECT_TRUE(check_replacement(model, other).ok());
  const auto refused = [&](const Contract& changed, const char* word) {
    const Status status = check_replacement(model, changed);
    EXPECT_FALSE(status.ok()) << word;
    if (status.ok()) return;
    EXPECT_EQ(status.error().code, ErrorCode::kRefused);
    EXPECT_NE(status.error().message.find(word), std::string::npos) << to_string(status.error());
    EXPECT_NE(status.error().expected, status.error().found);
  };
  other.role = model.role == ModelRole::kDriving ? ModelRole::kMonitoring : ModelRole::kDriving;
  refused(other, "role");
  other = model;
  other.inputs[0].source = "cabin ";
  refused(other, "inputs");
  other = model;
  other.inputs.pop_back();
  refused(other, "inputs");
  other = model;
  other.cameras[0].sizes.push_back({8, 8});
  refused(other, "cameras");
  other = model;
  other.outputs[0].slices[0].stop -= 1;
  refused(other, "outputs");
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

// Not a test of speed: how long the answers of a failure take, printed for whoever asks. The order
// of the answers is what is tested: one invalid, then valid ones.
TEST_F(FailOver, TakingOverIsMeasured) {
  inference_ = 30 * kMillisecond;
  std::vector<Nanoseconds> late, next, own;
  for (int round = 0; round < 10; ++round) {
    start();
    good(1);
    const Nanoseconds before = Clock::real().monotonic();
    good(2);
    own.push_back(Clock::real().monotonic() - before);
    switches_->hangs[0] = Switches::kReplay;
    const Nanoseconds begin = Clock::real().monotonic();
    EXPECT_EQ(frame(3).invalid, InvalidReason::kDeadline);
    const Nanoseconds answered = Clock::real().monotonic();
    late.push_back(answered - begin - inference_);
    EXPECT_TRUE(runner_->recover());
    EXPECT_FALSE(good(4).empty());
    next.push_back(Clock::real().monotonic() - answered);
    switches_->hangs[0] = Switches::kNowhere;
  }
  const auto tell = [](const char* what, std::vector<Nanoseconds>& times) {
    std::sort(times.begin(), times.end());
    std::printf("%s: median %.2f ms, worst of %zu %.2f ms\n", what,
                static_cast<double>(times[times.size() / 2]) / kMillisecond, times.size(),
                static_cast<double>(times.back()) / kMillisecond);
  };
  tell("a hang: from the deadline to the invalid answer (promise: 10 ms)", late);
  tell("from there to the fallback's first answer (promise: 100 ms)", next);
  tell("a frame that nothing happens to", own);
}

}  // namespace
}  // namespace modeld::test
