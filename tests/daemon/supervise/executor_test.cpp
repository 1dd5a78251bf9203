// Executors: the same answers as inside the process, and every way they can fail.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>

#include "daemon/supervise/executor_protocol.h"
#include "daemon/supervise/shared_memory.h"
#include "runtime/reference/reference_device.h"
#include "tests/daemon/supervise/executor_fixture.h"

namespace modeld::test {
namespace {

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

// A process that answers a word as soon as it is woken: what two wake-ups cost on this machine.
class Echo {
 public:
  Echo() {
    child_ = fork();
    if (child_ == 0) {
      for (uint32_t seen = 0;;) {
        supervise::sleep_while(asked(), seen, soon());
        seen = asked().load();
        answered().store(seen);
        supervise::wake(answered());
      }
    }
  }
  ~Echo() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  void round_trip() {
    const uint32_t next = asked().load() + 1;
    asked().store(next);
    supervise::wake(asked());
    while (answered().load() != next) supervise::sleep_while(answered(), next - 1, soon());
  }

 private:
  std::atomic<uint32_t>& word(size_t line) const {
    return *reinterpret_cast<std::atomic<uint32_t>*>(memory_.bytes().data() + line * 64);
  }
  std::atomic<uint32_t>& asked() const { return word(0); }
  std::atomic<uint32_t>& answered() const { return word(1); }

  const supervise::SharedMemory memory_ = *supervise::SharedMemory::create("echo", 4096);
  pid_t child_;
};

// Not a test of speed: what isolation costs, printed for whoever asks, beside what this machine
// takes for the two wake-ups alone.
TEST_F(ExecutorTest, AddedLatencyIsMeasured) {
  Echo echo;
  const auto device = open();
  const auto remote = record(*device);
  const auto local_device = open_reference_device();
  const auto local = record(*local_device);
  const auto replayed = [](Capture& capture) {
    auto submission = capture.replay();
    EXPECT_TRUE(submission.ok() && (*submission)->wait(soon()).ok());
    EXPECT_TRUE(capture.commit().ok());
  };
  // In turn, so that whatever else the machine does meets all.
  constexpr size_t kFrames = 2000;
  std::vector<Nanoseconds> inside, outside, wake_ups;
  const auto measure = [](std::vector<Nanoseconds>& times, auto&& work) {
    usleep(200);  // frames do not follow each other at once
    const Nanoseconds begin = Clock::real().monotonic();
    work();
    times.push_back(Clock::real().monotonic() - begin);
  };
  for (size_t i = 0; i < kFrames; ++i) {
    measure(inside, [&] { replayed(*local); });
    measure(outside, [&] { replayed(*remote); });
    measure(wake_ups, [&] { echo.round_trip(); });
  }
  for (auto* const times : {&inside, &outside, &wake_ups}) std::sort(times->begin(), times->end());
  const auto tell = [&](const char* what, size_t at) {
    const auto us = [at](const std::vector<Nanoseconds>& times) {
      return static_cast<double>(times[at]) / 1000;
    };
    std::printf(
        "replay and commit, %s: %.1f us inside, %.1f us in an executor; two wake-ups alone %.1f "
        "us\n",
        what, us(inside), us(outside), us(wake_ups));
  };
  tell("p50", kFrames / 2);
  tell("p90", kFrames * 90 / 100);
  tell("p99", kFrames * 99 / 100);
}

}  // namespace
}  // namespace modeld::test
