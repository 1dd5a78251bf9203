#include "daemon/health/health_publisher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ipc/schema/health.capnp.h"
#include "ipc/schema/read_message.h"
#include "ipc/transport/memory_transport.h"

namespace modeld {
namespace {

class HealthPublisherTest : public testing::Test {
 protected:
  HealthPublisherTest()
      : publisher_(*transport_.publisher("modeldHealth"), clock_, 2),
        subscriber_(*transport_.subscriber("modeldHealth", ipc::SubscribeMode::kQueue)) {}

  template <typename Use>
  size_t hear(Use&& use) {
    ipc::MessageReader reader;
    size_t messages = 0;
    while (true) {
      auto message = subscriber_->receive();
      if (!message.ok() || !*message) return messages;
      ++messages;
      EXPECT_TRUE(ipc::read_message<wire::Health>(reader, **message, use).ok());
    }
  }
  size_t count() {
    return hear([](wire::Health::Reader) {});
  }

  ManualClock clock_{50 * kSecond};
  ipc::MemoryTransport transport_{clock_};
  DaemonHealth health_{"modeld", "1.2.3", HealthLimits{}, clock_};
  HealthPublisher publisher_;
  std::unique_ptr<ipc::Subscriber> subscriber_;
};

TEST_F(HealthPublisherTest, SensorsSayWhetherTheyAreStale) {
  health_.sensors = {{"thermal cpu", "C", {48.5, true, true}}, {"devfreq gpu", "MHz", {}}};
  ASSERT_TRUE(publisher_.publish(health_).ok());
  EXPECT_EQ(hear([](wire::Health::Reader message) {
              const auto sensors = message.getSensors();
              ASSERT_EQ(sensors.size(), 2u);
              EXPECT_EQ(std::string(sensors[0].getName().cStr()), "thermal cpu");
              EXPECT_FLOAT_EQ(sensors[0].getValue(), 48.5f);
              EXPECT_TRUE(sensors[0].getKnown());
              EXPECT_TRUE(sensors[0].getStale());
              EXPECT_FALSE(sensors[1].getKnown());
            }),
            1u);
}

TEST_F(HealthPublisherTest, SaysWhatTheFallbackCostsAndHowOftenTheExecutorWasStarted) {
  health_.fallback = 1;
  health_.fallback_artifact = "small abcd";
  health_.fallback_warm_hz = 2;
  health_.executor_restarts = 3;
  // A quarter of a second of processor time in five seconds.
  health_.fallback_cpu.note(kSecond, clock_.monotonic());
  health_.fallback_cpu.note(kSecond + 250 * kMillisecond, clock_.monotonic() + 5 * kSecond);
  ASSERT_TRUE(publisher_.publish(health_).ok());
  EXPECT_EQ(hear([](wire::Health::Reader message) {
              EXPECT_EQ(message.getFallback(), wire::Health::Fallback::WARM);
              EXPECT_STREQ(message.getFallbackArtifact().cStr(), "small abcd");
              EXPECT_EQ(message.getFallbackWarmHz(), 2);
              EXPECT_FLOAT_EQ(message.getFallbackCpuShare(), 0.05f);
              EXPECT_EQ(message.getExecutorRestarts(), 3u);
            }),
            1u);
}

TEST_F(HealthPublisherTest, IncompleteSandboxIsAReasonWithItsText) {
  health_.state.begin_self_test(clock_.monotonic());
  health_.state.self_test_passed(clock_.monotonic());
  health_.sandbox.text = "no Landlock";
  health_.state.set_standing(HealthReason::kSandboxIncomplete, clock_.monotonic());
  health_.answered({}, InvalidReason::kNone, clock_.monotonic());
  ASSERT_TRUE(publisher_.publish(health_).ok());
  EXPECT_EQ(hear([](wire::Health::Reader message) {
              EXPECT_EQ(message.getState(), wire::Health::State::DEGRADED);
              EXPECT_EQ(message.getReason(), wire::Health::Reason::SANDBOX_INCOMPLETE);
              EXPECT_STREQ(message.getReasonText().cStr(), "no Landlock");
            }),
            1u);
}

TEST_F(HealthPublisherTest, TwiceASecondAndOnEveryChange) {
  for (int i = 0; i < 100; ++i) {  // 10 s in steps of 100 ms
    ASSERT_TRUE(publisher_.publish_if_due(health_).ok());
    clock_.advance(100 * kMillisecond);
  }
  EXPECT_EQ(count(), 20u);
  ASSERT_TRUE(publisher_.publish_if_due(health_).ok());
  count();
  clock_.advance(10 * kMillisecond);
  ASSERT_TRUE(publisher_.publish_if_due(health_).ok());
  EXPECT_EQ(count(), 0u);
  health_.state.begin_self_test(clock_.monotonic());
  ASSERT_TRUE(publisher_.publish_if_due(health_).ok());
  EXPECT_EQ(count(), 1u);
}

TEST_F(HealthPublisherTest, SaysEverythingItKnows) {
  health_.state.begin_self_test(clock_.monotonic());
  health_.state.self_test_passed(clock_.monotonic());
  health_.readiness.device_found = Check::kPassed;
  health_.readiness.firmware_verified = Check::kNotApplicable;
  health_.device = {"cpu", "a processor", "oneDNN", "3.0", "f32", 2, false};
  health_.artifact = {"driving", "abcd", "ed25519:1", "/m.model", true};
  health_.self_test = {Check::kPassed, "", 0.25, 12.5, clock_.boottime()};
  health_.pixel_path = PixelPath::kHostUpload;
  FrameTimes times;
  times[FramePhase::kModel] = 20 * kMillisecond;
  times[FramePhase::kTotal] = 60 * kMillisecond;
  ++health_.frames.received;
  health_.answered(times, InvalidReason::kNone, clock_.monotonic());
  ++health_.frames.received;
  health_.answered(times, InvalidReason::kTransform, clock_.monotonic());
  ++health_.frames.received;
  health_.dropped(DropReason::kOverrun, clock_.monotonic());
  health_.inputs = {{"carState", true, true, false, 99.5, Check::kFailed, 3}};
  ipc::StreamState stream;
  stream.connected = true;
  stream.num_buffers = 18;
  health_.streams = {{"main", &stream, 4}};
  ASSERT_TRUE(publisher_.publish(health_).ok());

  EXPECT_EQ(hear([&](wire::Health::Reader message) {
              EXPECT_STREQ(message.getProcess().cStr(), "modeld");
              EXPECT_STREQ(message.getVersion().cStr(), "1.2.3");
              EXPECT_EQ(message.getBoottimeNs(), 50u * kSecond);
              EXPECT_EQ(message.getState(), wire::Health::State::OK);
              EXPECT_EQ(message.getReadiness().getDeviceFound(), wire::Health::Check::PASSED);
              EXPECT_EQ(message.getReadiness().getFirmwareVerified(),
                        wire::Health::Check::NOT_APPLICABLE);
              // A check that never ran does not read as passed.
              EXPECT_EQ(message.getReadiness().getOutputValid(), wire::Health::Check::UNKNOWN);
              EXPECT_STREQ(message.getDevice().getBackend().cStr(), "cpu");
              EXPECT_TRUE(message.getArtifact().getSigned());
              EXPECT_EQ(message.getSelfTest().getResult(), wire::Health::Check::PASSED);
              EXPECT_EQ(message.getInputMode(), wire::Health::InputMode::HOST_UPLOAD);
              EXPECT_EQ(message.getFrames().getReceived(), 3u);
              EXPECT_EQ(message.getFrames().getPublished(), 2u);
              EXPECT_EQ(message.getFrames().getValid(), 1u);
              EXPECT_EQ(message.getFrames().getInvalid(), 1u);
              std::map<std::string, uint64_t> counters;
              for (const auto one : message.getDrops()) counters[one.getName()] = one.getCount();
              for (const auto one : message.getInvalids()) counters[one.getName()] = one.getCount();
              EXPECT_EQ(counters["overrun"], 1u);
              EXPECT_EQ(counters["unpaired"], 0u);
              EXPECT_EQ(counters["transform"], 1u);
              EXPECT_EQ(message.getDeadlineMs(), 50);
              EXPECT_EQ(message.getDeadlineMisses(), 2u);
              std::map<std::string, double> p50;
              for (const auto phase : message.getPhases()) p50[phase.getName()] = phase.getP50Ms();
              EXPECT_EQ(p50.size(), kFramePhaseCount);
              EXPECT_NEAR(p50["model"], 20, 20.0 / 64);
              EXPECT_EQ(p50["warp"], 0);
              ASSERT_EQ(message.getInputs().size(), 1u);
              EXPECT_STREQ(message.getInputs()[0].getTopic().cStr(), "carState");
              EXPECT_TRUE(message.getInputs()[0].getSeen());
              EXPECT_TRUE(message.getInputs()[0].getAlive());
              EXPECT_FALSE(message.getInputs()[0].getValid());
              EXPECT_EQ(message.getInputs()[0].getRateHz(), 99.5f);
              EXPECT_EQ(message.getInputs()[0].getRate(), wire::Health::Check::FAILED);
              EXPECT_EQ(message.getInputs()[0].getRejected(), 3u);
              ASSERT_EQ(message.getStreams().size(), 1u);
              EXPECT_EQ(message.getStreams()[0].getBuffers(), 18u);
              EXPECT_EQ(message.getStreams()[0].getTorn(), 4u);
            }),
            1u);
}

TEST_F(HealthPublisherTest, ChangeIsDatedWhenItHappened) {
  health_.state.begin_self_test(clock_.monotonic());
  const auto changed = static_cast<uint64_t>(clock_.boottime());
  clock_.advance(3 * kSecond);
  ASSERT_TRUE(publisher_.publish(health_).ok());
  hear([&](wire::Health::Reader message) {
    EXPECT_EQ(message.getChangedBoottimeNs(), changed);
    EXPECT_EQ(message.getBoottimeNs(), changed + 3u * kSecond);
  });
}

}  // namespace
}  // namespace modeld
