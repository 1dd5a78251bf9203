#include "daemon/inputs/topic_inputs.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "daemon/inputs/report_inputs.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/transport/memory_transport.h"
#include "runtime/base/file.h"
#include "tests/support/test_data.h"

namespace modeld {
namespace {

std::vector<std::byte> message(const std::function<void(wire::Event::Builder)>& fill) {
  capnp::MallocMessageBuilder builder;
  fill(builder.initRoot<wire::Event>());
  const auto words = capnp::messageToFlatArray(builder);
  std::vector<std::byte> bytes(words.asBytes().size());
  std::memcpy(bytes.data(), words.asBytes().begin(), bytes.size());
  return bytes;
}

class TopicInputsTest : public testing::Test {
 protected:
  TopicInputs open(ipc::NameSet names = ipc::NameSet::kNew) {
    auto inputs = TopicInputs::open(transport_, names, driving_services());
    EXPECT_TRUE(inputs.ok());
    return std::move(inputs).value();
  }
  void send(std::string_view topic, const std::vector<std::byte>& bytes) {
    auto publisher = transport_.publisher(topic);
    ASSERT_TRUE(publisher.ok()) << to_string(publisher.error());
    ASSERT_TRUE((*publisher)->send(bytes).ok());
  }
  const TopicInput& topic(const TopicInputs& inputs, std::string_view service) {
    for (const TopicInput& input : inputs.topics()) {
      if (input.service->name == service) return input;
    }
    ADD_FAILURE() << service;
    return inputs.topics()[0];
  }

  ManualClock clock_;
  ipc::MemoryTransport transport_{clock_};
  VehicleInputs values_;
};

TEST_F(TopicInputsTest, SubscribesToOldAndNewNames) {
  const TopicInputs new_names = open(ipc::NameSet::kNew);
  const TopicInputs old_names = open(ipc::NameSet::kOld);
  EXPECT_EQ(topic(new_names, "extrinsicsCalibration").topic, "extrinsicsCalibration");
  EXPECT_EQ(topic(old_names, "extrinsicsCalibration").topic, "liveCalibration");
  EXPECT_EQ(topic(old_names, "lateralDelay").topic, "liveDelay");
  EXPECT_EQ(topic(old_names, "narrowRoadCameraState").topic, "roadCameraState");
  EXPECT_EQ(topic(old_names, "carState").topic, "carState");
}

TEST_F(TopicInputsTest, TakesEveryFieldTheModelNeeds) {
  TopicInputs inputs = open();
  send("carState", message([](auto event) {
         auto car = event.initCarState();
         car.setVEgo(12.5f);
         car.setLeftBlinker(true);
         car.setSteeringPressed(true);
         car.setSteeringTorque(-2);
         car.setRightBlindspot(true);
       }));
  send("carControl", message([](auto event) { event.initCarControl().setLatActive(true); }));
  send("lateralDelay", message([](auto event) { event.initLateralDelay().setLateralDelay(0.2f); }));
  send("deviceState", message([](auto event) {
         event.initDeviceState().setDeviceType(wire::InitData::DeviceType::TIZI);
       }));
  send("narrowRoadCameraState", message([](auto event) {
         auto state = event.initNarrowRoadCameraState();
         state.setSensor(wire::FrameData::ImageSensor::OS04C10);
         state.setFrameId(77);
       }));
  send("extrinsicsCalibration", message([](auto event) {
         auto rpy = event.initExtrinsicsCalibration().initRpyCalib(3);
         rpy.set(0, 0.1f);
         rpy.set(1, 0.2f);
         rpy.set(2, 0.3f);
       }));
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  EXPECT_EQ(values_.v_ego, 12.5f);
  EXPECT_TRUE(values_.left_blinker);
  EXPECT_FALSE(values_.right_blinker);
  EXPECT_TRUE(values_.steering_pressed);
  EXPECT_EQ(values_.steering_torque, -2);
  EXPECT_TRUE(values_.right_blindspot);
  EXPECT_FALSE(values_.left_blindspot);
  EXPECT_TRUE(values_.lat_active);
  EXPECT_EQ(values_.lateral_delay, 0.2f);
  EXPECT_EQ(device_type_name(values_.device_type), "tizi");
  EXPECT_EQ(sensor_name(values_.sensor), "os04c10");
  EXPECT_EQ(values_.camera_frame_id, 77u);
  EXPECT_TRUE(values_.calibration_complete);
  EXPECT_EQ(values_.rpy_calib, (std::array<float, 3>{0.1f, 0.2f, 0.3f}));
  EXPECT_EQ(values_.calibrations, 1u);
}

TEST_F(TopicInputsTest, ReadsBothPlacesOfTheRightHandDriveFlag) {
  TopicInputs inputs = open();
  send("driverMonitoringState",
       message([](auto event) { event.initDriverMonitoringState().setIsRHD(true); }));
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  EXPECT_TRUE(values_.is_rhd);
  send("driverMonitoringState",
       message([](auto event) { event.initDriverMonitoringStateDEPRECATED().setIsRHD(false); }));
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  EXPECT_FALSE(values_.is_rhd);
  send("driverMonitoringState",
       message([](auto event) { event.initDriverMonitoringStateDEPRECATED().setIsRHD(true); }));
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  EXPECT_TRUE(values_.is_rhd);
  EXPECT_EQ(topic(inputs, "driverMonitoringState").tracker.received_count(), 3u);
}

TEST_F(TopicInputsTest, BadMessagesAreCountedAndChangeNothing) {
  TopicInputs inputs = open();
  values_.v_ego = 5;
  std::vector<std::byte> broken = message([](auto event) { event.initCarState().setVEgo(9); });
  broken.resize(broken.size() - 8);
  send("carState", broken);
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  send("carState", {std::byte{1}});
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  // A kind nobody asked for.
  send("carState", message([](auto event) { event.initLogMessage(3); }));
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  EXPECT_EQ(values_.v_ego, 5);
  EXPECT_EQ(topic(inputs, "carState").tracker.rejected_count(), 3u);
  EXPECT_FALSE(topic(inputs, "carState").tracker.seen());
}

TEST_F(TopicInputsTest, EveryPrefixOfAMessageIsSurvived) {
  TopicInputs inputs = open();
  const auto whole = message([](auto event) {
    auto rpy = event.initExtrinsicsCalibration().initRpyCalib(3);
    rpy.set(0, 1);
  });
  for (size_t size = 1; size < whole.size(); ++size) {
    send("extrinsicsCalibration", {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  }
  EXPECT_EQ(values_.calibrations, 0u);
  EXPECT_EQ(topic(inputs, "extrinsicsCalibration").tracker.rejected_count(), whole.size() - 1);
}

TEST_F(TopicInputsTest, RatesAreJudgedByWhatAPollPerFrameCanSee) {
  TopicInputs inputs = open();
  const auto car_state = message([](auto event) { event.initCarState(); });
  const auto camera_state = message([](auto event) { event.initNarrowRoadCameraState(); });
  for (int frame = 0; frame < 100; ++frame) {
    for (int i = 0; i < 5; ++i) send("carState", car_state);  // 100 Hz
    if (frame % 2 == 0) send("narrowRoadCameraState", camera_state);
    clock_.advance(50 * kMillisecond);
    ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  }
  EXPECT_NEAR(inputs.poll_hz(), 20, 1e-6);
  std::vector<InputFacts> facts;
  report_inputs(inputs, clock_.monotonic(), facts);
  ASSERT_EQ(facts.size(), inputs.topics().size());
  const auto check = [&](std::string_view name) {
    return std::find_if(facts.begin(), facts.end(),
                        [&](const InputFacts& one) { return one.topic == name; })
        ->rate;
  };
  EXPECT_EQ(check("carState"), Check::kPassed);
  EXPECT_EQ(check("narrowRoadCameraState"), Check::kFailed);  // 10 of 20 Hz
  EXPECT_EQ(check("carControl"), Check::kUnknown);            // never heard
}

TEST_F(TopicInputsTest, CalibrationWithoutThreeAnglesIsNotComplete) {
  TopicInputs inputs = open();
  send("extrinsicsCalibration",
       message([](auto event) { event.initExtrinsicsCalibration().initRpyCalib(2).set(0, 1); }));
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  EXPECT_EQ(values_.calibrations, 1u);
  EXPECT_FALSE(values_.calibration_complete);
}

// Messages another implementation serialised; the values are those of messages.json beside them.
TEST_F(TopicInputsTest, DecodesTheOriginalsMessages) {
  MODELD_NEED_SHARED("data/vectors/capnp/messages.json");
  TopicInputs inputs = open();
  for (const auto& [topic_name, file] :
       {std::pair{"carState", "12_carState.bin"}, std::pair{"carControl", "14_carControl.bin"},
        std::pair{"lateralDelay", "16_lateralDelay.bin"},
        std::pair{"extrinsicsCalibration", "10_extrinsicsCalibration.bin"},
        std::pair{"driverMonitoringState", "17_driverMonitoringState.bin"},
        std::pair{"narrowRoadCameraState", "07_narrowRoadCameraState.bin"},
        std::pair{"deviceState", "19_deviceState.bin"}}) {
    auto bytes = read_file(test::shared_path(std::string("data/vectors/capnp/") + file), 1 << 20);
    ASSERT_TRUE(bytes.ok()) << to_string(bytes.error());
    send(topic_name, *bytes);
  }
  ASSERT_TRUE(inputs.poll(clock_.monotonic(), values_).ok());
  for (const TopicInput& input : inputs.topics()) {
    EXPECT_EQ(input.tracker.received_count(), 1u) << input.topic;
    EXPECT_EQ(input.tracker.rejected_count(), 0u) << input.topic;
  }
  EXPECT_EQ(values_.v_ego, 4.515625f);
  EXPECT_FALSE(values_.lat_active);
  EXPECT_EQ(values_.lateral_delay, 17.8125f);
  EXPECT_TRUE(values_.is_rhd);
  EXPECT_EQ(values_.camera_frame_id, 632015868u);
  EXPECT_EQ(device_type_name(values_.device_type), "tici");
  // That message carries six angles, which no calibration does.
  EXPECT_EQ(values_.calibrations, 1u);
  EXPECT_FALSE(values_.calibration_complete);
}

TEST(InputTracker, AliveForTenPeriods) {
  InputTracker tracker(4);  // Hz
  EXPECT_FALSE(tracker.alive(0));
  tracker.received(kSecond, true);
  EXPECT_TRUE(tracker.alive(kSecond + 2499 * kMillisecond));
  EXPECT_FALSE(tracker.alive(kSecond + 2500 * kMillisecond));
  tracker.received(10 * kSecond, false);
  EXPECT_TRUE(tracker.alive(10 * kSecond));
  EXPECT_FALSE(tracker.valid());
}

TEST(InputTracker, WithoutAFrequencyAlwaysAliveAndValid) {
  const InputTracker tracker(0);
  EXPECT_TRUE(tracker.alive(100 * kSecond));
  EXPECT_TRUE(tracker.valid());
  EXPECT_FALSE(tracker.seen());
}

TEST(InputTracker, StaleOnlyAfterItWasHeardAndAtLeastHalfASecond) {
  InputTracker slow(2);
  EXPECT_FALSE(slow.stale(100 * kSecond));
  slow.received(100 * kSecond, true);
  EXPECT_FALSE(slow.stale(105 * kSecond - 1));
  EXPECT_TRUE(slow.stale(105 * kSecond));
  InputTracker fast(100);
  fast.received(100 * kSecond, true);
  EXPECT_FALSE(fast.alive(100 * kSecond + 100 * kMillisecond));
  EXPECT_FALSE(fast.stale(100 * kSecond + 499 * kMillisecond));
  EXPECT_TRUE(fast.stale(100 * kSecond + 500 * kMillisecond));
  InputTracker seldom(0);
  seldom.received(0, true);
  EXPECT_FALSE(seldom.stale(1000 * kSecond));
}

TEST(InputTracker, RateIsMessagesPerSecond) {
  InputTracker tracker(20);
  EXPECT_EQ(tracker.rate_hz(), 0);
  for (int i = 0; i < 100; ++i) tracker.received(kSecond + i * 50 * kMillisecond, true);
  EXPECT_NEAR(tracker.rate_hz(), 20, 1e-6);
  for (int i = 0; i < 300; ++i) tracker.received(6 * kSecond + i * 100 * kMillisecond, true);
  EXPECT_NEAR(tracker.rate_hz(), 10, 1e-6);
}

// `count` messages at `rate_hz` after whatever came before.
void receive(InputTracker& tracker, Nanoseconds& now, int count, double rate_hz) {
  for (int i = 0; i < count; ++i) {
    now += static_cast<Nanoseconds>(kSecond / rate_hz);
    tracker.received(now, true);
  }
}

// Interoperability facts 2.3: 0.8 to 1.2 times the frequency over the last 10 f or the last f
// messages.
TEST(InputTracker, RateIsExpectedWithinAFifth) {
  for (const auto& [rate_hz, expected] : {std::pair(20.0, Check::kPassed),
                                          {16.1, Check::kPassed},
                                          {15.9, Check::kFailed},
                                          {23.9, Check::kPassed},
                                          {24.1, Check::kFailed}}) {
    InputTracker tracker(20);
    Nanoseconds now = kSecond;
    receive(tracker, now, 201, rate_hz);
    EXPECT_EQ(tracker.rate_check(0), expected) << rate_hz;
  }
}

TEST(InputTracker, RateIsUnknownBeforeTheSecondMessageAndNotAskedWithoutAFrequency) {
  InputTracker tracker(20);
  EXPECT_EQ(tracker.rate_check(20), Check::kUnknown);
  Nanoseconds now = kSecond;
  receive(tracker, now, 1, 20);
  EXPECT_EQ(tracker.rate_check(20), Check::kUnknown);
  receive(tracker, now, 1, 20);
  EXPECT_EQ(tracker.rate_check(20), Check::kPassed);
  InputTracker seldom(0);
  receive(seldom, now, 5, 3);
  EXPECT_EQ(seldom.rate_check(20), Check::kNotApplicable);
}

TEST(InputTracker, EitherTheLongOrTheShortRunMayBeAsExpected) {
  InputTracker tracker(20);
  Nanoseconds now = kSecond;
  receive(tracker, now, 201, 20);
  receive(tracker, now, 20, 10);  // the last second is slow, the last ten are not
  EXPECT_EQ(tracker.rate_check(0), Check::kPassed);
  receive(tracker, now, 200, 10);
  EXPECT_EQ(tracker.rate_check(0), Check::kFailed);
  receive(tracker, now, 20, 20);  // back for a second, of which the last ten do not know yet
  EXPECT_EQ(tracker.rate_check(0), Check::kPassed);
}

TEST(InputTracker, FastServicesAreExpectedAtEveryPoll) {
  InputTracker tracker(100);
  Nanoseconds now = kSecond;
  receive(tracker, now, 1000, 20);  // conflated: one each frame
  EXPECT_EQ(tracker.rate_check(20), Check::kPassed);
  EXPECT_EQ(tracker.rate_check(0), Check::kFailed);
  receive(tracker, now, 1000, 10);  // missing at every other frame
  EXPECT_EQ(tracker.rate_check(20), Check::kFailed);
  receive(tracker, now, 1000, 125);
  EXPECT_EQ(tracker.rate_check(20), Check::kFailed);
}

}  // namespace
}  // namespace modeld
