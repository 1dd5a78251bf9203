// The flight recorder: what it remembers, what its files say, and that it never floods a disk.
#include "daemon/health/flight_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/health/daemon_health.h"
#include "daemon/health/flight_writer.h"
#include "runtime/base/file.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

using Json = nlohmann::json;

FrameTimes times_of(uint32_t id, Nanoseconds model) {
  FrameTimes times;
  times.frame_id = id;
  times[FramePhase::kCameraToReceive] = 5 * kMillisecond;
  times[FramePhase::kUpload] = 2 * kMillisecond;
  times[FramePhase::kModel] = model;
  times[FramePhase::kPublish] = kMillisecond;
  times[FramePhase::kCpuWait] = 7 * kMillisecond;
  times[FramePhase::kTotal] = model + 4 * kMillisecond;
  return times;
}

FlightRecord record_of(uint32_t id, Nanoseconds done, bool missed) {
  return {id, InvalidReason::kNone, missed, done, times_of(id, 20 * kMillisecond)};
}

TEST(FlightRecorder, KeepsTheLastFrames) {
  FlightRecorder recorder;
  EXPECT_EQ(recorder.size(), 0u);
  const auto frames = static_cast<uint32_t>(FlightRecorder::kFrames + 10);
  for (uint32_t id = 0; id < frames; ++id) recorder.note(record_of(id, id * kSecond, id == 5));
  EXPECT_EQ(recorder.size(), FlightRecorder::kFrames);
  EXPECT_EQ(recorder.at(0).frame_id, 10u);
  EXPECT_EQ(recorder.at(recorder.size() - 1).frame_id, frames - 1);
  EXPECT_EQ(recorder.misses(), 1u);
}

TEST(FlightRecorder, TraceHoldsEveryFrameAndPhaseAtItsTime) {
  FlightRecorder recorder;
  recorder.note(record_of(41, 1000 * kMillisecond, false));
  recorder.note(record_of(42, 1100 * kMillisecond, true));
  const Json trace = Json::parse(to_trace_json(recorder, "modeld"));
  std::vector<Json> frames;
  double model_begin = 0;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    if (event.at("args").at("frame") != 42) continue;
    if (event.at("name") == "frame 42") frames.push_back(event);
    if (event.at("name") == "model") model_begin = event.at("ts");
    if (event.at("name") == "cameraToReceive") {
      EXPECT_DOUBLE_EQ(event.at("ts"), (1100 - 24 - 5) * 1000.0);
    }
    if (event.at("name") == "publish") {
      EXPECT_DOUBLE_EQ(event.at("ts"), 1099 * 1000.0);
    }
    if (event.at("name") == "cpuWait") {
      EXPECT_DOUBLE_EQ(event.at("dur"), 7000.0);
    }
  }
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_DOUBLE_EQ(frames[0].at("ts"), (1100 - 24) * 1000.0);  // microseconds
  EXPECT_DOUBLE_EQ(frames[0].at("dur"), 24000.0);
  EXPECT_EQ(frames[0].at("args").at("missed"), true);
  EXPECT_EQ(frames[0].at("args").at("answer"), "valid");
  EXPECT_DOUBLE_EQ(model_begin, (1100 - 24 + 2) * 1000.0);
}

TEST(FlightRecorder, TraceOfNothingIsATraceToo) {
  EXPECT_TRUE(Json::accept(to_trace_json(FlightRecorder(), "modeld")));
}

TEST(FlightRecorder, AMissedDeadlineIsNotedByTheHealth) {
  ManualClock clock;
  DaemonHealth health("modeld", "test", HealthLimits{}, clock);
  health.answered(times_of(1, 30 * kMillisecond), InvalidReason::kNone, clock.monotonic());
  EXPECT_EQ(health.flight.misses(), 0u);
  health.answered(times_of(2, 70 * kMillisecond), InvalidReason::kDeadline, clock.monotonic());
  ASSERT_EQ(health.flight.size(), 2u);
  EXPECT_EQ(health.flight.misses(), 1u);
  EXPECT_EQ(health.flight.at(1).frame_id, 2u);
  EXPECT_EQ(health.flight.at(1).reason, InvalidReason::kDeadline);
}

class FlightWriterTest : public testing::Test {
 protected:
  void start(std::filesystem::path folder) {
    auto started =
        FlightWriter::start(clock_, {.folder = std::move(folder), .process = "modeld", .kept = 2});
    ASSERT_TRUE(started.ok());
    writer_ = std::move(started).value();
  }
  void miss() {
    recorder_.note(record_of(++id_, clock_.monotonic(), true));
    writer_->offer(recorder_);
  }
  // For the thread; what it does takes no time worth speaking of.
  bool settles(const std::function<bool()>& condition) {
    const Deadline deadline = Deadline::after(Clock::real(), 10 * kSecond);
    while (!condition()) {
      if (deadline.passed(Clock::real())) return false;
      usleep(200);
    }
    return true;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  test::TempDir folder_;
  ManualClock clock_{100 * kSecond};
  FlightRecorder recorder_;
  std::unique_ptr<FlightWriter> writer_;
  uint32_t id_ = 0;
};

TEST_F(FlightWriterTest, WritesAfterAMissAndNotMoreOftenThanTheGapAllows) {
  start(folder_.path());
  recorder_.note(record_of(++id_, clock_.monotonic(), false));
  writer_->offer(recorder_);
  miss();
  ASSERT_TRUE(settles([&] { return writer_->written() == 1; }));
  ASSERT_EQ(files(), std::vector<std::string>{"flight-modeld-100000.json"});
  const auto text = read_text_file(folder_ / "flight-modeld-100000.json", 1 << 20);
  ASSERT_TRUE(text.ok());
  const Json trace = Json::parse(*text);
  const auto& events = trace.at("traceEvents");
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const Json& event) {
    return event.at("name") == "frame 2" && event.at("args").at("missed") == true;
  }));
  clock_.advance(29 * kSecond);
  miss();
  EXPECT_EQ(files().size(), 1u);
  clock_.advance(2 * kSecond);
  miss();
  ASSERT_TRUE(settles([&] { return writer_->written() == 2; }));
  // Without a further miss there is nothing to write.
  clock_.advance(60 * kSecond);
  recorder_.note(record_of(++id_, clock_.monotonic(), false));
  writer_->offer(recorder_);
  EXPECT_EQ(files().size(), 2u);
  // Only the newest are kept.
  miss();
  ASSERT_TRUE(settles([&] { return writer_->written() == 3; }));
  const auto kept = files();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0], "flight-modeld-131000.json");
}

TEST_F(FlightWriterTest, AFolderThatIsGoneIsCountedAndHarmsNothing) {
  start(folder_ / "none");
  miss();
  ASSERT_TRUE(settles([&] { return writer_->failed() == 1; }));
  EXPECT_EQ(writer_->written(), 0u);
}

TEST(StateFolder, ConfiguredThenGivenByTheServiceManager) {
  test::TempDir folder;
  EXPECT_EQ(state_folder(folder.path()), folder.path());
  EXPECT_EQ(state_folder(folder / "none"), std::nullopt);
  setenv("STATE_DIRECTORY", (folder.path().string() + ":/other").c_str(), 1);
  EXPECT_EQ(state_folder(""), folder.path());
  unsetenv("STATE_DIRECTORY");
}

}  // namespace
}  // namespace modeld
