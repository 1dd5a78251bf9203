// The road model's loop against the faults people reported (field-faults list), named after them.
#include "daemon/driving/driving_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"
#include "tests/daemon/support/driving_bench.h"
#include "tests/daemon/support/model_contracts.h"

namespace modeld::test {
namespace {

size_t count_valid(const std::vector<Heard>& heard) {
  return static_cast<size_t>(
      std::count_if(heard.begin(), heard.end(), [](const Heard& one) { return one.valid; }));
}

// Every accepted frame is answered or counted.
void expect_nothing_silent(const DaemonHealth& health) {
  EXPECT_EQ(health.frames.received, health.frames.published + health.frames.dropped_total());
}

TEST(DrivingLoop, AnswersEachPairWithThreeMessagesInOrder) {
  DrivingBench bench;
  for (uint32_t id = 1; id <= 5; ++id) ASSERT_TRUE(bench.frame(id).ok());
  const auto model = bench.model_v2();
  const auto data = bench.driving_model_data();
  const auto odometry = bench.camera_odometry();
  ASSERT_EQ(model.size(), 5u) << bench.loop->detail();
  ASSERT_EQ(data.size(), 5u);
  ASSERT_EQ(odometry.size(), 5u);
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(model[i].kind, "modelV2");
    EXPECT_EQ(data[i].kind, "drivingModelData");
    EXPECT_EQ(odometry[i].kind, "cameraOdometry");
    EXPECT_TRUE(model[i].valid && data[i].valid && odometry[i].valid) << i;
    EXPECT_TRUE(model[i].finite);
    EXPECT_EQ(model[i].frame_id, i + 1);
    EXPECT_EQ(model[i].frame_id_extra, i + 1);
    EXPECT_EQ(model[i].plan_x.size(), 33u);
    EXPECT_EQ(data[i].frame_id, i + 1);
    EXPECT_EQ(odometry[i].frame_id, i + 1);
  }
  EXPECT_EQ(bench.health.state.state(), HealthState::kOk);
  EXPECT_EQ(bench.script.commits, 5u);
  expect_nothing_silent(bench.health);
}

// The whole answer, probabilities in the two softmax heads as the original's parser leaves them.
TEST(DrivingLoop, RawPredictionsOnlyWhereAskedFor) {
  DrivingBench plain;
  ASSERT_TRUE(plain.frame(1).ok());
  EXPECT_TRUE(plain.model_v2().front().raw.empty());

  BenchOptions options;
  options.raw_predictions = true;
  DrivingBench bench(options);
  const OutputContract& output = bench.engine->contract().outputs[0];
  for (uint32_t id = 1; id <= 2; ++id) {
    ASSERT_TRUE(bench.frame(id).ok());
    const Heard heard = bench.model_v2().front();
    ASSERT_EQ(heard.raw.size(), static_cast<size_t>(output.type.elements()) * sizeof(float));
    std::vector<float> values(heard.raw.size() / sizeof(float));
    std::memcpy(values.data(), heard.raw.data(), heard.raw.size());
    const auto head = [&](const char* name) {
      return values.begin() + static_cast<ptrdiff_t>(output.find_slice(name)->start);
    };
    // Means of the plan stand first in it, 15 to a point.
    for (size_t i = 0; i < heard.plan_x.size(); ++i) {
      EXPECT_EQ(head("plan")[static_cast<ptrdiff_t>(15 * i)], heard.plan_x[i]) << i;
    }
    EXPECT_NEAR(std::accumulate(head("desire_state"), head("desire_state") + 8, 0.0), 1, 1e-6);
    for (int i = 0; i < 4; ++i) {
      const auto row = head("desire_pred") + 8 * i;
      EXPECT_NEAR(std::accumulate(row, row + 8, 0.0), 1, 1e-6);
    }
  }
}

TEST(DrivingLoop, OneCameraFeedsBothImages) {
  BenchOptions options;
  options.wide = false;
  DrivingBench bench(options);
  ASSERT_TRUE(bench.frame(1).ok());
  const auto model = bench.model_v2();
  ASSERT_EQ(model.size(), 1u);
  EXPECT_TRUE(model[0].valid) << bench.loop->detail();
  EXPECT_EQ(model[0].frame_id_extra, 1u);
}

TEST(DrivingLoop, PhasesAreMeasuredApart) {
  DrivingBench bench;
  bench.script.takes = 30 * kMillisecond;
  for (uint32_t id = 1; id <= 20; ++id) ASSERT_TRUE(bench.frame(id).ok());
  const PhaseStatistics& phases = bench.health.phases;
  EXPECT_EQ(phases.histogram(FramePhase::kModel).count(), 20u);
  EXPECT_EQ(phases.histogram(FramePhase::kModel).max(), 30 * kMillisecond);
  EXPECT_EQ(phases.histogram(FramePhase::kTotal).max(), 30 * kMillisecond);
  // Exposure ended 15 ms before the clock's now: 20 ms before it began, 5 ms long.
  EXPECT_EQ(phases.histogram(FramePhase::kCameraToReceive).max(), 15 * kMillisecond);
  EXPECT_EQ(phases.deadline_misses(), 0u);
  bench.script.takes = 70 * kMillisecond;
  ASSERT_TRUE(bench.frame(21).ok());
  EXPECT_EQ(phases.deadline_misses(), 1u);
}

TEST(FieldFault1, OneLostFrameMakesOneOdometryMessageInvalid) {
  DrivingBench lossy;
  DrivingBench whole;
  std::vector<Heard> lossy_model;
  std::vector<Heard> whole_model;
  std::vector<Heard> odometry;
  uint32_t id_of_whole = 0;
  for (uint32_t id = 0; id < 100; ++id) {
    if (id == 50) {
      lossy.tick();
      continue;
    }
    // The other run sees the same pictures under ids without a gap.
    ASSERT_TRUE(lossy.frame(id, id).ok());
    ASSERT_TRUE(whole.frame(id_of_whole++, id).ok());
    for (auto& heard : lossy.model_v2()) lossy_model.push_back(heard);
    for (auto& heard : whole.model_v2()) whole_model.push_back(heard);
    for (auto& heard : lossy.camera_odometry()) odometry.push_back(heard);
  }
  ASSERT_EQ(lossy_model.size(), 99u);
  ASSERT_EQ(odometry.size(), 99u);
  EXPECT_EQ(count_valid(lossy_model), 99u);
  for (const Heard& heard : odometry)
    EXPECT_EQ(heard.valid, heard.frame_id != 51) << heard.frame_id;
  EXPECT_EQ(lossy.health.frames.missed, 1u);
  ASSERT_EQ(whole_model.size(), 99u);
  for (size_t i = 59; i < 99; ++i) EXPECT_EQ(lossy_model[i].plan_x, whole_model[i].plan_x) << i;
  EXPECT_GT(lossy_model.back().drop_perc, 0);
  expect_nothing_silent(lossy.health);
}

TEST(FieldFault3, PairsByTimeAndNotById) {
  DrivingBench bench;
  for (uint32_t id = 1; id <= 10; ++id) {
    bench.tick();
    bench.send_narrow(id, id);
    bench.send_wide(id + 1, id);  // ids shifted by one, times equal
    ASSERT_TRUE(bench.run_once().ok());
  }
  const auto model = bench.model_v2();
  ASSERT_EQ(model.size(), 10u);
  EXPECT_EQ(count_valid(model), 10u);
  for (const Heard& heard : model) EXPECT_EQ(heard.frame_id_extra, heard.frame_id + 1);
  EXPECT_EQ(bench.health.frames.pairs_far_apart, 0u);
}

TEST(FieldFault3, SkewOfTwelveMillisecondsIsFlagged) {
  DrivingBench bench;
  for (uint32_t id = 1; id <= 10; ++id) {
    bench.tick();
    bench.send_narrow(id, id);
    bench.send_wide(id, id, 12 * kMillisecond);
    ASSERT_TRUE(bench.run_once().ok());
  }
  EXPECT_EQ(bench.model_v2().size(), 10u);
  EXPECT_EQ(bench.health.frames.pairs_far_apart, 10u);
  EXPECT_EQ(bench.health.state.state(), HealthState::kDegraded);
  EXPECT_EQ(bench.health.state.reason(), HealthReason::kUnpaired);
}

TEST(FieldFault3, WideStreamStallsAndReturns) {
  DrivingBench bench;
  for (uint32_t id = 1; id <= 5; ++id) ASSERT_TRUE(bench.frame(id).ok());
  for (uint32_t id = 6; id <= 9; ++id) {  // 200 ms without wide frames
    bench.tick();
    bench.send_narrow(id, id);
    ASSERT_TRUE(bench.loop->run_once(Deadline::after(bench.clock, 0)).ok());
  }
  EXPECT_EQ(bench.model_v2().size(), 5u);
  for (uint32_t id = 10; id <= 14; ++id) {
    ASSERT_TRUE(bench.frame(id).ok());
  }
  const auto model = bench.model_v2();
  ASSERT_GE(model.size(), 4u);
  // No wide frame from before the stall is used again, and from the second answer on the pair is
  // the same moment.
  for (const Heard& heard : model) EXPECT_GE(heard.frame_id_extra, 10u);
  for (size_t i = 1; i < model.size(); ++i) EXPECT_EQ(model[i].frame_id, model[i].frame_id_extra);
}

TEST(FieldFault4, FrameOverwrittenDuringTheCopyIsDiscarded) {
  BenchOptions options;
  options.buffers = 4;
  DrivingBench bench(options);
  ASSERT_TRUE(bench.frame(1).ok());
  // Each frame is checked before and after its copy: the second frame's copy lies between the third
  // and the fourth check.
  bench.narrow->before_check = [&](uint64_t check) {
    if (check != 4) return;
    for (uint32_t id = 3; id <= 6; ++id) bench.send_narrow(id, id);
  };
  ASSERT_TRUE(bench.frame(2).ok());
  bench.narrow->before_check = nullptr;
  EXPECT_EQ(bench.model_v2().size(), 1u);
  EXPECT_EQ(bench.health.frames.dropped(DropReason::kOverrun), 1u);
  EXPECT_EQ(bench.health.streams[0].torn, 1u);
  EXPECT_EQ(bench.script.replays, 1u);
  expect_nothing_silent(bench.health);
}

TEST(FieldFault4, FrameOverwrittenWhileTheDeviceReadsItIsDiscarded) {
  BenchOptions options;
  options.buffers = 4;
  options.mode = FrameInput::kZeroCopy;
  DrivingBench bench(options);
  ASSERT_TRUE(bench.frame(1).ok());
  bench.script.during_replay = [&] {
    for (uint32_t id = 3; id <= 6; ++id) bench.send_narrow(id, id);
  };
  ASSERT_TRUE(bench.frame(2).ok());
  bench.script.during_replay = nullptr;
  EXPECT_EQ(bench.model_v2().size(), 1u);
  EXPECT_EQ(bench.health.frames.dropped(DropReason::kOverrun), 1u);
  EXPECT_EQ(bench.script.commits, 1u);
  EXPECT_EQ(bench.health.streams[0].torn, 1u);
  expect_nothing_silent(bench.health);
}

TEST(FieldFault4, PixelsWithoutAnIdAreCaughtByTheDistance) {
  BenchOptions options;
  options.buffers = 4;
  options.mode = FrameInput::kZeroCopy;
  DrivingBench bench(options);
  ASSERT_TRUE(bench.frame(1).ok());
  bench.script.during_replay = [&] {
    // Frames 3 to 5 are complete, the one that goes over frame 2 has begun: its id is still 2.
    for (uint32_t id = 3; id <= 5; ++id) bench.send_narrow(id, id);
    bench.narrow->start_overwriting(99);
  };
  ASSERT_TRUE(bench.frame(2).ok());
  bench.script.during_replay = nullptr;
  EXPECT_EQ(bench.model_v2().size(), 1u);
  EXPECT_EQ(bench.health.frames.dropped(DropReason::kOverrun), 1u);
}

TEST(FieldFault4, ShortenedFileIsNotTouched) {
  DrivingBench bench;
  ASSERT_TRUE(bench.frame(1).ok());
  bench.narrow->truncate();
  ASSERT_TRUE(bench.frame(2).ok());
  EXPECT_EQ(bench.model_v2().size(), 1u);
  EXPECT_EQ(bench.health.frames.dropped(DropReason::kUnreadable), 1u);
  EXPECT_EQ(bench.script.replays, 1u);
}

TEST(DrivingLoop, PixelsAreReadBetweenBeginAndEnd) {
  for (const FrameInput mode : {FrameInput::kUpload, FrameInput::kZeroCopy}) {
    BenchOptions options;
    options.mode = mode;
    DrivingBench bench(options);
    int open = 0, checks = 0;
    bench.narrow->before_check = [&](uint64_t) {
      ++checks;
      open += bench.narrow->reads.open;
    };
    int open_in_replay = 0;
    bench.script.during_replay = [&] { open_in_replay = bench.narrow->reads.open; };
    ASSERT_TRUE(bench.frame(1).ok());
    // Both checks of the frame, before and after use, see what a device wrote.
    EXPECT_GE(checks, 2);
    EXPECT_EQ(open, checks);
    // Borrowed pixels are read by the device's thread; copied ones are ours by then.
    EXPECT_EQ(open_in_replay, mode == FrameInput::kZeroCopy ? 1 : 0);
    EXPECT_EQ(bench.narrow->reads.open, 0);
    EXPECT_EQ(bench.narrow->reads.total, 1u);
    EXPECT_EQ(bench.wide->reads.total, 1u);
    bench.script.during_replay = nullptr;
    bench.narrow->before_check = nullptr;
  }
}

TEST(DrivingLoop, BufferThatRefusesToBeReadIsDropped) {
  DrivingBench bench;
  ASSERT_TRUE(bench.frame(1).ok());
  bench.wide->reads.refused = true;
  ASSERT_TRUE(bench.frame(2).ok());
  EXPECT_EQ(bench.model_v2().size(), 1u);
  EXPECT_EQ(bench.health.frames.dropped(DropReason::kUnreadable), 1u);
  EXPECT_EQ(bench.narrow->reads.open, 0);  // what was begun is ended
  bench.wide->reads.refused = false;
  ASSERT_TRUE(bench.frame(3).ok());
  EXPECT_EQ(bench.model_v2().size(), 1u);
}

TEST(FieldFault6, ServerRestartDropsItsImports) {
  BenchOptions options;
  options.mode = FrameInput::kZeroCopy;
  DrivingBench bench(options);
  for (uint32_t id = 100; id < 120; ++id) ASSERT_TRUE(bench.frame(id).ok());
  // Two cameras, eight buffers each: one import per buffer, not per frame.
  EXPECT_EQ(bench.script.imports, 16u);
  bench.narrow->restart();
  bench.wide->restart();
  for (uint32_t id = 0; id < 10; ++id) ASSERT_TRUE(bench.frame(id).ok());
  EXPECT_EQ(bench.script.imports, 32u);
  // The old server's buffers are given back: nobody will send them again.
  EXPECT_EQ(bench.script.imports_held, 16u);
  const auto model = bench.model_v2();
  EXPECT_EQ(model.size(), 30u);
  EXPECT_EQ(count_valid(model), 30u);
  EXPECT_EQ(bench.health.frames.missed, 0u);
}

TEST(FieldFault7, ServerThatNeverSendsIsWaitedForWithoutHanging) {
  DrivingBench bench;
  const Nanoseconds begin = bench.clock.monotonic();
  for (int i = 0; i < 5; ++i) {
    const Nanoseconds before = bench.clock.monotonic();
    ASSERT_TRUE(bench.run_once().ok());
    EXPECT_LE(bench.clock.monotonic() - before, 100 * kMillisecond);
  }
  EXPECT_LE(bench.clock.monotonic() - begin, kSecond);
  EXPECT_EQ(bench.health.state.state(), HealthState::kWaitingForFrames);
  EXPECT_EQ(bench.health.state.reason(), HealthReason::kNoFrames);
  bench.narrow->set_connected(false);
  ASSERT_TRUE(bench.run_once().ok());
  EXPECT_EQ(bench.health.state.reason(), HealthReason::kNoCameraServer);
}

TEST(FieldFault9, PaddedLayoutIsUsedAndNothingBehindItsRowsIsCopied) {
  BenchOptions options;
  options.stride = 1536;  // chroma not at stride times height, last chroma row short
  DrivingBench bench(options);
  ASSERT_TRUE(bench.frame(1).ok());
  EXPECT_EQ(count_valid(bench.model_v2()), 1u) << bench.loop->detail();
  // Field fault 14: as one piece, from the first luma row to the last pixel of chroma.
  const uint64_t chroma = 1536u * 768u + 4096u;
  EXPECT_EQ(bench.loop->runner().copied_bytes(), 2 * (chroma + 1536u * 379u + 1344u));
}

TEST(FieldFault9, AnotherPictureSizeIsAnsweredInvalidNamingBoth) {
  BenchOptions options;
  options.wide = false;
  options.width = 640;
  options.height = 480;
  DrivingBench bench(options);
  ASSERT_TRUE(bench.frame(1).ok());
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kFrameSize), 1u);
  EXPECT_NE(bench.loop->detail().find("640x480"), std::string::npos) << bench.loop->detail();
  EXPECT_NE(bench.loop->detail().find("1344x760"), std::string::npos) << bench.loop->detail();
  EXPECT_EQ(bench.script.replays, 0u);
}

TEST(FieldFault12, FramesBeforeTheFirstAcceptedOneAreNotDrops) {
  DrivingBench bench;
  for (uint32_t id = 5000; id < 5020; ++id) ASSERT_TRUE(bench.frame(id).ok());
  EXPECT_EQ(bench.health.frames.missed, 0u);
  EXPECT_EQ(bench.health.frames.dropped_total(), 0u);
  for (const Heard& heard : bench.model_v2()) EXPECT_EQ(heard.drop_perc, 0) << heard.frame_id;
}

TEST(FieldFault13, ValidityChangesOnceAndInvalidMessagesAreEmpty) {
  BenchOptions options;
  options.calibrate = false;
  DrivingBench bench(options);
  std::vector<Heard> model;
  for (uint32_t id = 1; id <= 50; ++id) {
    if (id == 10) bench.send_states();
    if (id == 20) bench.send_calibration();
    ASSERT_TRUE(bench.frame(id).ok());
    for (auto& heard : bench.model_v2()) model.push_back(heard);
  }
  ASSERT_EQ(model.size(), 50u);
  for (const Heard& heard : model) {
    EXPECT_EQ(heard.valid, heard.frame_id >= 20) << heard.frame_id;
    // No all-zero body is marked valid, and an invalid one cannot be taken for a prediction.
    EXPECT_EQ(heard.plan_x.empty(), !heard.valid);
    if (heard.valid) {
      EXPECT_TRUE(
          std::any_of(heard.plan_x.begin(), heard.plan_x.end(), [](float x) { return x != 0; }));
    }
  }
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kNotCalibrated), 19u);
  // Nothing reached the device before there was a matrix.
  EXPECT_EQ(bench.script.replays, 31u);
}

TEST(DrivingLoop, InvalidMatrixNeverReachesTheDevice) {
  DrivingBench bench;
  ASSERT_TRUE(bench.frame(1).ok());
  bench.send_calibration(std::numeric_limits<float>::quiet_NaN(), 0, 0);
  ASSERT_TRUE(bench.frame(2).ok());
  ASSERT_TRUE(bench.frame(3).ok());
  EXPECT_EQ(bench.script.replays, 1u);
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kTransform), 2u);
  bench.send_calibration();
  ASSERT_TRUE(bench.frame(4).ok());
  const auto model = bench.model_v2();
  ASSERT_EQ(model.size(), 4u);
  EXPECT_TRUE(model[0].valid);
  EXPECT_FALSE(model[1].valid);
  EXPECT_FALSE(model[2].valid);
  EXPECT_TRUE(model[3].valid);
}

TEST(DrivingLoop, SpeedThatIsNotANumberMakesTheFrameInvalid) {
  DrivingBench bench;
  bench.send_car_state(std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(bench.frame(1).ok());
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kInputVector), 1u);
  bench.send_car_state(10);
  ASSERT_TRUE(bench.frame(2).ok());
  EXPECT_EQ(bench.health.frames.valid, 1u);
}

// A topic that goes silent: invalid after half a second, with its name, valid when it speaks again.
TEST(DrivingLoop, SilentTopicMakesTheFrameInvalidUntilItSpeaksAgain) {
  BenchOptions options;
  options.refuse_stale = true;
  DrivingBench bench(options);
  uint32_t id = 0;
  bench.send_car_state(10);
  const auto others_speak = [&] {
    bench.send_states();
    bench.send_calibration();
  };
  for (int i = 0; i < 9; ++i) {
    others_speak();
    ASSERT_TRUE(bench.frame(++id).ok());
    EXPECT_EQ(bench.loop->detail(), "");
  }
  for (int i = 0; i < 3; ++i) {
    others_speak();
    ASSERT_TRUE(bench.frame(++id).ok());
  }
  EXPECT_EQ(bench.health.frames.valid, 9u);
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kInputStale), 3u);
  const std::string& detail = bench.loop->detail();
  EXPECT_TRUE(detail.starts_with("carState is silent (last message ")) << detail;
  EXPECT_TRUE(detail.ends_with(" ms ago, expected within 500 ms)")) << detail;
  EXPECT_EQ(to_string(InvalidReason::kInputStale), "inputStale");
  others_speak();
  bench.send_car_state(10);
  ASSERT_TRUE(bench.frame(++id).ok());
  EXPECT_EQ(bench.health.frames.valid, 10u);
  // Never heard (carControl) is no reason.
  EXPECT_EQ(bench.loop->detail(), "");
}

// One NaN in each slice in turn.
// Every topic the daemon listens to, by what makes an Event of its kind.
const std::pair<const char*, void (*)(wire::Event::Builder)> kInputTopics[] = {
    {"deviceState",
     [](wire::Event::Builder event) {
       event.initDeviceState().setDeviceType(wire::InitData::DeviceType::TICI);
     }},
    {"narrowRoadCameraState",
     [](wire::Event::Builder event) {
       event.initNarrowRoadCameraState().setSensor(wire::FrameData::ImageSensor::OS04C10);
     }},
    {"extrinsicsCalibration",
     [](wire::Event::Builder event) { event.initExtrinsicsCalibration().initRpyCalib(3); }},
    {"lateralDelay", [](wire::Event::Builder event) { event.initLateralDelay(); }},
    {"driverMonitoringState",
     [](wire::Event::Builder event) { event.initDriverMonitoringState(); }},
    {"carState", [](wire::Event::Builder event) { event.initCarState(); }},
    {"carControl", [](wire::Event::Builder event) { event.initCarControl(); }},
};

void speak(DrivingBench& bench, const char* silent, const char* invalid) {
  for (const auto& [topic, fill] : kInputTopics) {
    if (std::string_view(topic) == silent) continue;
    ipc::MessageWriter writer(4096);
    auto event = writer.begin().initRoot<wire::Event>();
    event.setValid(std::string_view(topic) != invalid);
    fill(event);
    auto publisher = bench.transport.publisher(topic);
    ASSERT_TRUE(publisher.ok());
    ASSERT_TRUE((*publisher)->send(*writer.finish()).ok());
  }
}

// The original consults nobody's valid flag (facts 5.1 and 7.3): the message is used, and health
// says what its sender thinks of it.
TEST(DrivingLoop, InputsThatCallThemselvesInvalidAreUsedAndReported) {
  ASSERT_EQ(std::size(kInputTopics), driving_services().size());
  for (const auto& [topic, fill] : kInputTopics) {
    BenchOptions options;
    options.calibrate = false;
    options.refuse_stale = true;
    DrivingBench bench(options);
    for (uint32_t id = 1; id <= 3; ++id) {
      speak(bench, "", topic);
      ASSERT_TRUE(bench.frame(id).ok());
      EXPECT_EQ(bench.loop->detail(), "") << topic;
    }
    EXPECT_EQ(bench.health.frames.valid, 3u) << topic;
    for (const Heard& heard : bench.model_v2()) EXPECT_TRUE(heard.valid) << topic;
    bench.loop->refresh_health();
    ASSERT_EQ(bench.health.inputs.size(), std::size(kInputTopics));
    for (const InputFacts& input : bench.health.inputs) {
      EXPECT_EQ(input.valid, input.topic != topic) << topic << " " << input.topic;
      EXPECT_TRUE(input.seen && input.alive) << input.topic;
    }
  }
}

TEST(DrivingLoop, EveryTopicThatFallsSilentMakesTheFrameInvalidByName) {
  for (const auto& [topic, fill] : kInputTopics) {
    BenchOptions options;
    options.calibrate = false;
    options.refuse_stale = true;
    DrivingBench bench(options);
    speak(bench, "", "");
    ASSERT_TRUE(bench.frame(1).ok());
    EXPECT_EQ(bench.loop->detail(), "") << topic;
    // deviceState comes twice a second: it may be silent for five.
    for (uint32_t id = 2; id <= 110; ++id) {
      speak(bench, topic, "");
      ASSERT_TRUE(bench.frame(id).ok());
    }
    EXPECT_TRUE(bench.loop->detail().starts_with(std::string(topic) + " is silent"))
        << topic << ": " << bench.loop->detail();
    EXPECT_FALSE(bench.model_v2().back().valid);
    speak(bench, "", "");
    ASSERT_TRUE(bench.frame(111).ok());
    EXPECT_EQ(bench.loop->detail(), "") << topic;
    EXPECT_TRUE(bench.model_v2().back().valid);
  }
}

TEST(FieldFault27, NanInAnySliceIsNeverPublishedAndNeverRemembered) {
  const Contract contract = driving_contract();
  DrivingBench bench;
  DrivingBench clean;
  uint32_t id = 1;
  for (const OutputSlice& slice : contract.outputs[0].slices) {
    ASSERT_TRUE(bench.frame(id, id).ok());
    ASSERT_TRUE(clean.frame(id, id).ok());
    ++id;
    bench.script.spoil = [&](std::span<float> values) {
      values[static_cast<size_t>(slice.stop - 1)] = std::numeric_limits<float>::quiet_NaN();
    };
    ASSERT_TRUE(bench.frame(id, 500).ok());
    bench.script.spoil = nullptr;
    EXPECT_NE(bench.loop->detail().find(slice.name), std::string::npos) << bench.loop->detail();
    clean.tick();
    ++id;
  }
  const size_t slices = contract.outputs[0].slices.size();
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kOutputNotFinite), slices);
  EXPECT_EQ(bench.script.commits, slices);
  const auto spoiled = bench.model_v2();
  const auto reference = clean.model_v2();
  ASSERT_EQ(spoiled.size(), 2 * slices);
  ASSERT_EQ(reference.size(), slices);
  for (size_t i = 0; i < slices; ++i) {
    EXPECT_TRUE(spoiled[2 * i].valid);
    EXPECT_FALSE(spoiled[2 * i + 1].valid);
    EXPECT_TRUE(spoiled[2 * i + 1].plan_x.empty());
    // The next clean frame is what it would have been had the spoiled one never existed.
    EXPECT_EQ(spoiled[2 * i].plan_x, reference[i].plan_x) << i;
  }
}

// The outputs are finite, what the network would remember is not: seen in the same frame.
TEST(FieldFault27, NanInAStateIsNeverPublishedAndNeverRemembered) {
  DrivingBench bench;
  ASSERT_TRUE(bench.frame(1).ok());
  bench.script.states_not_finite = 2;
  ASSERT_TRUE(bench.frame(2).ok());
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kStateNotFinite), 1u);
  EXPECT_NE(bench.loop->detail().find("2 times"), std::string::npos) << bench.loop->detail();
  EXPECT_EQ(bench.script.commits, 1u);
  bench.script.states_not_finite = 0;
  ASSERT_TRUE(bench.frame(3).ok());
  const auto model = bench.model_v2();
  ASSERT_EQ(model.size(), 3u);
  EXPECT_TRUE(model[0].valid && !model[1].valid && model[2].valid);
}

// Field fault 11: health says who took the time.
TEST(FieldFault11, HealthTellsWaitingForAProcessorFromComputing) {
  for (const bool starved : {true, false}) {
    DrivingBench bench;
    bench.script.takes = 70 * kMillisecond;
    bench.script.cpu_wait = starved ? 50 * kMillisecond : 0;
    for (uint32_t id = 1; id <= 60; ++id) ASSERT_TRUE(bench.frame(id).ok());
    EXPECT_EQ(bench.health.state.state(), HealthState::kLagging);
    EXPECT_EQ(to_string(bench.health.state.reason()),
              to_string(starved ? HealthReason::kWaitingForCpu : HealthReason::kExecutionTime));
    const LatencyHistogram& waits = bench.health.phases.histogram(FramePhase::kCpuWait);
    if (starved) {
      EXPECT_GE(waits.max(), 50 * kMillisecond);
    }
  }
}

TEST(FieldFault25, ConstantSliceIsNotPublished) {
  DrivingBench bench;
  bench.script.spoil = [](std::span<float> values) {
    std::fill(values.begin() + 917, values.begin() + 1907, 0.0f);  // plan
  };
  ASSERT_TRUE(bench.frame(1).ok());
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kOutputConstant), 1u);
  EXPECT_NE(bench.loop->detail().find("plan"), std::string::npos);
  EXPECT_EQ(bench.script.commits, 0u);
}

TEST(DrivingLoop, IndexOutOfRangeIsNotPublished) {
  DrivingBench bench;
  bench.script.index_out_of_range = 3;
  ASSERT_TRUE(bench.frame(1).ok());
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kIndexOutOfRange), 1u);
}

TEST(FieldFault21, InferenceThatNeverEndsIsSeenAndTheLoopGivesUp) {
  DrivingBench bench;
  for (uint32_t id = 1; id <= 3; ++id) ASSERT_TRUE(bench.frame(id).ok());
  EXPECT_EQ(bench.model_v2().size(), 3u);
  bench.script.blocks = true;
  const Nanoseconds before = bench.clock.monotonic();
  ASSERT_TRUE(bench.frame(4).ok());
  EXPECT_LE(bench.clock.monotonic() - before, 200 * kMillisecond);
  auto model = bench.model_v2();
  ASSERT_EQ(model.size(), 1u);
  EXPECT_FALSE(model[0].valid);
  EXPECT_EQ(bench.health.state.state(), HealthState::kStalled);
  EXPECT_EQ(bench.health.state.reason(), HealthReason::kDeadlineMissed);
  // Frames go on being answered, invalid, until the loop gives the device up.
  uint32_t id = 5;
  Status status;
  while (status.ok() && id < 100) status = bench.frame(id++);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kDeadline);
  EXPECT_LE(bench.clock.monotonic() - before, 3 * kSecond);
  EXPECT_EQ(count_valid(bench.model_v2()), 0u);
  EXPECT_EQ(bench.script.replays, 4u);
  expect_nothing_silent(bench.health);
}

TEST(FieldFault21, DeviceThatAnswersLateIsUsedAgainWithoutItsLateAnswer) {
  DrivingBench bench;
  ASSERT_TRUE(bench.frame(1).ok());
  bench.script.blocks = true;
  ASSERT_TRUE(bench.frame(2).ok());
  bench.script.blocks = false;
  ASSERT_TRUE(bench.frame(3).ok());
  const auto model = bench.model_v2();
  ASSERT_EQ(model.size(), 3u);
  EXPECT_TRUE(model[0].valid);
  EXPECT_FALSE(model[1].valid);
  EXPECT_TRUE(model[2].valid);
  EXPECT_EQ(bench.script.commits, 2u);
  EXPECT_EQ(bench.health.state.state(), HealthState::kOk);
}

TEST(FieldFault20, LostDeviceIsAnsweredInvalidAndEndsTheLoop) {
  for (const bool at_replay : {true, false}) {
    DrivingBench bench;
    ASSERT_TRUE(bench.frame(1).ok());
    (at_replay ? bench.script.fails_at_replay : bench.script.fails_at_wait) =
        ErrorCode::kDeviceLost;
    const Status status = bench.frame(2);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kDeviceLost);
    const auto model = bench.model_v2();
    ASSERT_EQ(model.size(), 2u);
    EXPECT_FALSE(model[1].valid);
    EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kDeviceLost), 1u);
  }
}

TEST(DrivingLoop, DeviceErrorIsAnsweredInvalidAndTheNextFrameTriesAgain) {
  DrivingBench bench;
  bench.script.fails_at_wait = ErrorCode::kDevice;
  ASSERT_TRUE(bench.frame(1).ok());
  bench.script.fails_at_wait.reset();
  ASSERT_TRUE(bench.frame(2).ok());
  bench.script.fails_at_commit = ErrorCode::kDevice;
  ASSERT_TRUE(bench.frame(3).ok());
  const auto model = bench.model_v2();
  ASSERT_EQ(model.size(), 3u);
  EXPECT_FALSE(model[0].valid);
  EXPECT_TRUE(model[1].valid);
  EXPECT_FALSE(model[2].valid);
  EXPECT_EQ(bench.health.frames.invalid(InvalidReason::kDeviceError), 2u);
}

TEST(DrivingLoop, MainFrameWithoutPartnerIsCountedWhenItIsReplaced) {
  DrivingBench bench;
  ASSERT_TRUE(bench.frame(1).ok());
  bench.tick();
  bench.send_narrow(2, 2);
  ASSERT_TRUE(bench.run_once().ok());  // waits for the wide frame in vain
  EXPECT_EQ(bench.health.frames.published, 1u);
  bench.narrow->restart();  // another server: the frame in hand has no partner any more
  ASSERT_TRUE(bench.frame(3).ok());
  ASSERT_TRUE(bench.frame(4).ok());
  EXPECT_GE(bench.health.frames.published, 2u);
  EXPECT_LE(bench.health.frames.received - bench.health.frames.published -
                bench.health.frames.dropped_total(),
            1u);  // at most the one in hand
}

TEST(DrivingLoop, RefusesArtifactsItCannotFeed) {
  const auto create = [](const std::function<void(Contract&)>& change) {
    ManualClock clock;
    ipc::MemoryTransport transport(clock);
    DigestScript script;
    Contract contract = driving_contract();
    change(contract);
    Engine engine(model_of(contract), std::make_unique<DigestDevice>(contract, script, clock), {});
    DaemonHealth health("modeld", "test", {}, clock);
    FakeCamera camera(*Nv12Layout::openpilot(1344, 760), 2, clock);
    auto loop = driving::DrivingLoop::create({clock, transport, engine, health}, {},
                                             camera.stream(true), camera.stream(false));
    return loop.ok() ? std::string("accepted") : to_string(loop.error());
  };
  EXPECT_EQ(create([](Contract&) {}), "accepted");
  EXPECT_NE(create([](Contract& c) { c.inputs[4].source = "lane_hints"; }).find("lane_hints"),
            std::string::npos);
  EXPECT_NE(create([](Contract& c) { c.inputs[4].source.clear(); }).find("desire"),
            std::string::npos);
  EXPECT_NE(
      create([](Contract& c) { c.inputs.erase(c.inputs.begin() + 5); }).find("traffic_convention"),
      std::string::npos);
  EXPECT_NE(create([](Contract& c) { c.inputs[5].source = "desire_pulse"; }).find("desire_pulse"),
            std::string::npos);
  EXPECT_NE(create([](Contract& c) {
              c.inputs[4].type.shape = {1, 9};
            }).find("f32[1,9]"),
            std::string::npos);
  EXPECT_NE(create([](Contract& c) { c.cameras.pop_back(); }).find("big_img_frame"),
            std::string::npos);
  EXPECT_NE(create([](Contract& c) { c.outputs[0].slices[8].name = "plans"; }).find("plan"),
            std::string::npos);
  // action_t is optional.
  EXPECT_EQ(create([](Contract& c) { c.inputs.pop_back(); }), "accepted");
}

TEST(FieldFault37, TwoRunsOverTheSameInputsAgree) {
  std::vector<std::vector<float>> runs[2];
  for (auto& run : runs) {
    DrivingBench bench;
    for (uint32_t id = 1; id <= 30; ++id) {
      if (id == 10) bench.send_calibration(0.001f, 0.002f, 0.003f);
      if (id == 15) bench.send_car_state(20, true);
      ASSERT_TRUE(bench.frame(id).ok());
    }
    for (const Heard& heard : bench.model_v2()) run.push_back(heard.plan_x);
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0].size(), 30u);
}

}  // namespace
}  // namespace modeld::test
