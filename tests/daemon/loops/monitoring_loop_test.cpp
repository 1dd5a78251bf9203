// The driver-monitoring model's loop.
#include "daemon/monitoring/monitoring_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"
#include "ipc/transport/memory_transport.h"
#include "tests/daemon/support/digest_device.h"
#include "tests/daemon/support/fake_camera.h"
#include "tests/daemon/support/model_contracts.h"

namespace modeld::test {
namespace {

struct HeardDriver {
  bool valid = false;
  uint32_t frame_id = 0;
  float wheel = 0;
  std::vector<float> orientation;
  float face_prob = 0;
};

class MonitoringLoopTest : public testing::Test {
 protected:
  MonitoringLoopTest() {
    script_.takes = 10 * kMillisecond;
    auto made = monitoring::MonitoringLoop::create({clock_, transport_, engine_, health_}, {},
                                                   camera_.stream(true));
    EXPECT_TRUE(made.ok()) << to_string(made.error());
    loop_ = std::move(made).value();
    loop_->refresh_health();
    health_.state.begin_self_test(clock_.monotonic());
    health_.state.self_test_passed(clock_.monotonic());
    subscriber_ = *transport_.subscriber("driverStateV2", ipc::SubscribeMode::kQueue);
  }

  Status frame(uint32_t id, uint64_t picture) {
    clock_.advance(50 * kMillisecond);
    camera_.send(id, static_cast<uint64_t>(clock_.boottime()) - 20'000'000, picture);
    return loop_->run_once(Deadline::after(clock_, 100 * kMillisecond));
  }

  void calibrate(std::initializer_list<float> angles) {
    ipc::MessageWriter writer(1024);
    auto rpy = writer.begin().initRoot<wire::Event>().initExtrinsicsCalibration().initRpyCalib(
        static_cast<uint32_t>(angles.size()));
    uint32_t i = 0;
    for (const float angle : angles) rpy.set(i++, angle);
    auto publisher = transport_.publisher("extrinsicsCalibration");
    ASSERT_TRUE(publisher.ok());
    ASSERT_TRUE((*publisher)->send(*writer.finish()).ok());
  }

  std::vector<HeardDriver> hear() {
    std::vector<HeardDriver> all;
    ipc::MessageReader reader;
    while (true) {
      auto message = subscriber_->receive();
      if (!message.ok() || !*message) return all;
      EXPECT_TRUE(ipc::read_event(reader, **message, [&](wire::Event::Reader event) {
                    const auto state = event.getDriverStateV2();
                    HeardDriver heard;
                    heard.valid = event.getValid();
                    heard.frame_id = state.getFrameId();
                    heard.wheel = state.getWheelOnRightProb();
                    for (const float angle : state.getLeftDriverData().getFaceOrientation()) {
                      heard.orientation.push_back(angle);
                    }
                    heard.face_prob = state.getLeftDriverData().getFaceProb();
                    all.push_back(heard);
                  }).ok());
    }
  }

  ManualClock clock_{100 * kSecond};
  ipc::MemoryTransport transport_{clock_};
  DigestScript script_;
  FakeCamera camera_{*Nv12Layout::openpilot(1344, 760), 8, clock_};
  Engine engine_{model_of(monitoring_contract()),
                 std::make_unique<DigestDevice>(monitoring_contract(), script_, clock_),
                 {}};
  DaemonHealth health_{"dmonitoringmodeld", "test", HealthLimits{}, clock_};
  std::unique_ptr<monitoring::MonitoringLoop> loop_;
  std::unique_ptr<ipc::Subscriber> subscriber_;
};

TEST_F(MonitoringLoopTest, AnswersEveryFrameAlsoBeforeCalibration) {
  for (uint32_t id = 1; id <= 5; ++id) ASSERT_TRUE(frame(id, id).ok());
  calibrate({0.1f, 0.2f, 0.3f});
  for (uint32_t id = 6; id <= 8; ++id) ASSERT_TRUE(frame(id, id).ok());
  const auto heard = hear();
  ASSERT_EQ(heard.size(), 8u) << loop_->detail();
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(heard[i].valid);
    EXPECT_EQ(heard[i].frame_id, i + 1);
    EXPECT_EQ(heard[i].orientation.size(), 3u);
    EXPECT_GT(heard[i].wheel, 0);
    EXPECT_LT(heard[i].wheel, 1);
  }
  EXPECT_EQ(health_.state.state(), HealthState::kOk);
  EXPECT_EQ(health_.frames.received, 8u);
}

TEST_F(MonitoringLoopTest, TheCalibrationReachesTheModel) {
  ASSERT_TRUE(frame(1, 7).ok());
  const auto before = hear();
  ASSERT_TRUE(frame(2, 7).ok());
  calibrate({0.1f, 0.2f, 0.3f});
  ASSERT_TRUE(frame(3, 7).ok());
  const auto after = hear();
  ASSERT_EQ(after.size(), 2u);
  EXPECT_NE(after[1].orientation, after[0].orientation);
}

TEST_F(MonitoringLoopTest, CalibrationThatIsNotFiniteMakesFramesInvalidUntilAGoodOneComes) {
  calibrate({std::numeric_limits<float>::infinity(), 0, 0});
  ASSERT_TRUE(frame(1, 1).ok());
  calibrate({0, 0});
  ASSERT_TRUE(frame(2, 2).ok());
  calibrate({0, 0, 0});
  ASSERT_TRUE(frame(3, 3).ok());
  const auto heard = hear();
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_FALSE(heard[0].valid);
  EXPECT_FALSE(heard[1].valid);
  EXPECT_TRUE(heard[2].valid);
  EXPECT_EQ(health_.frames.invalid(InvalidReason::kInputVector), 2u);
  EXPECT_EQ(script_.replays, 1u);
}

TEST_F(MonitoringLoopTest, FieldFault27NanInAnySliceIsNeverPublished) {
  const Contract contract = monitoring_contract();
  uint32_t id = 1;
  for (const OutputSlice& slice : contract.outputs[0].slices) {
    script_.spoil = [&](std::span<float> values) {
      values[static_cast<size_t>(slice.start)] = std::numeric_limits<float>::quiet_NaN();
    };
    ASSERT_TRUE(frame(id, id).ok());
    ++id;
    script_.spoil = nullptr;
    ASSERT_TRUE(frame(id, id).ok());
    ++id;
  }
  const auto heard = hear();
  ASSERT_EQ(heard.size(), 2 * contract.outputs[0].slices.size());
  for (size_t i = 0; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i].valid, i % 2 == 1) << i;
    EXPECT_EQ(heard[i].orientation.empty(), i % 2 == 0) << i;
    if (i % 2 == 0) {
      EXPECT_EQ(heard[i].face_prob, 0) << i;
    }
  }
  EXPECT_EQ(script_.commits, contract.outputs[0].slices.size());
}

TEST_F(MonitoringLoopTest, FieldFault7ServerThatNeverSends) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(loop_->run_once(Deadline::after(clock_, kSecond)).ok());
  }
  EXPECT_LE(clock_.monotonic(), 101 * kSecond);
  EXPECT_EQ(health_.state.state(), HealthState::kWaitingForFrames);
}

// The whole answer as it came: this daemon's original copies it before it parses.
TEST_F(MonitoringLoopTest, RawPredictionsWhereAskedFor) {
  ipc::MemoryTransport transport(clock_);
  monitoring::LoopSettings settings;
  settings.raw_predictions = true;
  FakeCamera camera(*Nv12Layout::openpilot(1344, 760), 8, clock_);
  const auto loop = monitoring::MonitoringLoop::create({clock_, transport, engine_, health_},
                                                       settings, camera.stream(true));
  ASSERT_TRUE(loop.ok()) << to_string(loop.error());
  auto subscriber = *transport.subscriber("driverStateV2", ipc::SubscribeMode::kQueue);
  clock_.advance(50 * kMillisecond);
  camera.send(1, static_cast<uint64_t>(clock_.boottime()) - 20'000'000, 1);
  ASSERT_TRUE((*loop)->run_once(Deadline::after(clock_, 100 * kMillisecond)).ok());
  const auto message = *subscriber->receive();
  ASSERT_TRUE(message.has_value());
  const OutputContract output = monitoring_contract().outputs[0];
  ipc::MessageReader reader;
  ASSERT_TRUE(ipc::read_event(reader, *message, [&](wire::Event::Reader event) {
                const auto state = event.getDriverStateV2();
                const auto raw = state.getRawPredictions();
                ASSERT_EQ(raw.size(), static_cast<size_t>(output.type.elements()) * sizeof(float));
                std::vector<float> values(raw.size() / sizeof(float));
                std::memcpy(values.data(), raw.begin(), raw.size());
                // A logit here, its probability in the message.
                EXPECT_NEAR(state.getWheelOnRightProb(), 1 / (1 + std::exp(-values[0])), 1e-6);
              }).ok());
}

TEST_F(MonitoringLoopTest, RefusesADrivingModel) {
  Engine engine(model_of(driving_contract()),
                std::make_unique<DigestDevice>(driving_contract(), script_, clock_), {});
  ipc::MemoryTransport transport(clock_);
  const auto loop = monitoring::MonitoringLoop::create({clock_, transport, engine, health_}, {},
                                                       camera_.stream(true));
  ASSERT_FALSE(loop.ok());
  EXPECT_EQ(loop.error().code, ErrorCode::kRefused);
  EXPECT_NE(to_string(loop.error()).find("narrow_road"), std::string::npos);
}

}  // namespace
}  // namespace modeld::test
