#include "daemon/health/health_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "daemon/health/frame_counters.h"

namespace modeld {
namespace {

class HealthStateTest : public testing::Test {
 protected:
  void start() {
    health_.begin_self_test(clock_.monotonic());
    clock_.advance(100 * kMillisecond);
    health_.self_test_passed(clock_.monotonic());
  }
  void good(int frames, Nanoseconds working = 20 * kMillisecond) {
    for (int i = 0; i < frames; ++i) {
      clock_.advance(50 * kMillisecond);
      health_.frame_answered(working, clock_.monotonic());
    }
  }
  void waiting(int frames, Nanoseconds working, FrameWaits waits) {
    for (int i = 0; i < frames; ++i) {
      clock_.advance(50 * kMillisecond);
      health_.frame_answered(working, clock_.monotonic(), HealthReason::kNone, waits);
    }
  }
  void bad(int frames, HealthReason reason) {
    for (int i = 0; i < frames; ++i) {
      clock_.advance(50 * kMillisecond);
      health_.frame_failed(reason, clock_.monotonic());
    }
  }
  void expect(HealthState state, HealthReason reason) {
    EXPECT_EQ(to_string(health_.state()), to_string(state));
    EXPECT_EQ(to_string(health_.reason()), to_string(reason));
  }

  ManualClock clock_;
  HealthStateMachine health_{HealthLimits{}, clock_.monotonic()};
};

TEST_F(HealthStateTest, StartsAndReachesOkWithTheFirstGoodFrame) {
  expect(HealthState::kStarting, HealthReason::kStartUp);
  health_.begin_self_test(clock_.monotonic());
  expect(HealthState::kSelfTest, HealthReason::kStartUp);
  health_.self_test_passed(clock_.monotonic());
  expect(HealthState::kWaitingForFrames, HealthReason::kStartUp);
  bad(1, HealthReason::kOverrun);
  expect(HealthState::kWaitingForFrames, HealthReason::kStartUp);
  good(1);
  expect(HealthState::kOk, HealthReason::kNone);
  EXPECT_EQ(health_.changed_at(), clock_.monotonic());
  const uint64_t changes = health_.changes();
  good(50);
  EXPECT_EQ(health_.changes(), changes);
}

TEST_F(HealthStateTest, FramesBeforeTheSelfTestDoNotMakeItOk) {
  good(5);
  expect(HealthState::kStarting, HealthReason::kStartUp);
  health_.no_frame(HealthReason::kNoFrames, clock_.monotonic());
  expect(HealthState::kStarting, HealthReason::kStartUp);
}

TEST_F(HealthStateTest, AFewBadFramesDoNotChangeTheState) {
  start();
  good(20);
  bad(2, HealthReason::kOverrun);
  expect(HealthState::kOk, HealthReason::kNone);
  good(20);
  bad(2, HealthReason::kOverrun);
  expect(HealthState::kOk, HealthReason::kNone);
}

TEST_F(HealthStateTest, ThreeBadFramesDegradeAndAWindowOfGoodOnesRecovers) {
  start();
  good(20);
  bad(3, HealthReason::kOutputInvalid);
  expect(HealthState::kDegraded, HealthReason::kOutputInvalid);
  good(19);
  expect(HealthState::kDegraded, HealthReason::kOutputInvalid);
  good(1);
  expect(HealthState::kOk, HealthReason::kNone);
}

TEST_F(HealthStateTest, TwoReasonsTakingTurnsDoNotFlap) {
  start();
  good(20);
  bad(3, HealthReason::kOverrun);
  const uint64_t changes = health_.changes();
  for (int i = 0; i < 20; ++i) {
    bad(1, HealthReason::kOutputInvalid);
    bad(1, HealthReason::kOverrun);
  }
  EXPECT_EQ(health_.changes(), changes);
  bad(3, HealthReason::kNotCalibrated);
  expect(HealthState::kDegraded, HealthReason::kNotCalibrated);
}

// Field fault 19: execution time grows from 25 to 60 ms over 30 s, then falls again.
TEST_F(HealthStateTest, FieldFault19HeatGoesOkDegradedLaggingWithoutFlapping) {
  start();
  std::vector<std::string> seen;
  const auto note = [&] {
    const std::string state(to_string(health_.state()));
    if (seen.empty() || seen.back() != state) seen.push_back(state);
    if (health_.state() != HealthState::kOk) {
      EXPECT_EQ(health_.reason(), HealthReason::kExecutionTime);
    }
  };
  for (int i = 0; i < 600; ++i) {
    // +-2 ms of noise around the slope, and waves of three seconds that averages follow.
    const double wave = 4.0 * std::sin(i * 2 * std::numbers::pi / 60);
    const double ms = 25 + 35.0 * i / 600 + (i % 2 == 0 ? 2 : -2) + wave;
    good(1, static_cast<Nanoseconds>(ms * kMillisecond));
    note();
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"ok", "degraded", "lagging"}));
  for (int i = 0; i < 600; ++i) {
    good(1, static_cast<Nanoseconds>((60 - 35.0 * i / 600) * kMillisecond));
    note();
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"ok", "degraded", "lagging", "degraded", "ok"}));
}

TEST_F(HealthStateTest, LateCameraIsNotBlamedOnTheModel) {
  start();
  good(20);
  for (int i = 0; i < 100; ++i) {
    clock_.advance(100 * kMillisecond);
    health_.frame_answered(20 * kMillisecond, clock_.monotonic());
  }
  expect(HealthState::kDegraded, HealthReason::kFramesLate);
  good(200);
  expect(HealthState::kOk, HealthReason::kNone);
}

TEST_F(HealthStateTest, NoFrameForASecondIsWaiting) {
  start();
  good(20);
  clock_.advance(950 * kMillisecond);
  health_.no_frame(HealthReason::kNoFrames, clock_.monotonic());
  expect(HealthState::kOk, HealthReason::kNone);
  clock_.advance(60 * kMillisecond);
  health_.no_frame(HealthReason::kNoFrames, clock_.monotonic());
  expect(HealthState::kWaitingForFrames, HealthReason::kNoFrames);
  health_.no_frame(HealthReason::kNoCameraServer, clock_.monotonic());
  expect(HealthState::kWaitingForFrames, HealthReason::kNoCameraServer);
  good(1);
  expect(HealthState::kOk, HealthReason::kNone);
}

TEST_F(HealthStateTest, StallLastsUntilAFrameIsAnswered) {
  start();
  good(20);
  health_.stalled(HealthReason::kWaitingForDevice, clock_.monotonic());
  expect(HealthState::kStalled, HealthReason::kWaitingForDevice);
  bad(2, HealthReason::kDeadlineMissed);
  expect(HealthState::kStalled, HealthReason::kWaitingForDevice);
  clock_.advance(5 * kSecond);
  health_.no_frame(HealthReason::kNoFrames, clock_.monotonic());
  expect(HealthState::kStalled, HealthReason::kWaitingForDevice);
  good(1);
  expect(HealthState::kOk, HealthReason::kNone);
}

TEST_F(HealthStateTest, FaultIsStickyAndCarriesItsText) {
  start();
  good(20);
  health_.fault(HealthReason::kDeviceLost, "bus reset", clock_.monotonic());
  good(30);
  health_.no_frame(HealthReason::kNoFrames, clock_.monotonic());
  expect(HealthState::kFaulted, HealthReason::kDeviceLost);
  EXPECT_EQ(health_.text(), "bus reset");
  health_.recovered(clock_.monotonic());
  expect(HealthState::kWaitingForFrames, HealthReason::kNone);
  EXPECT_EQ(health_.text(), "");
  good(1);
  expect(HealthState::kOk, HealthReason::kNone);
}

// Field fault 11.
TEST_F(HealthStateTest, SlowFramesNameWhatTookTheTime) {
  start();
  waiting(60, 60 * kMillisecond, {40 * kMillisecond, 0});
  expect(HealthState::kLagging, HealthReason::kWaitingForCpu);
  waiting(60, 60 * kMillisecond, {0, 40 * kMillisecond});
  expect(HealthState::kLagging, HealthReason::kWaitingForDevice);
  waiting(60, 60 * kMillisecond, {2 * kMillisecond, 2 * kMillisecond});
  expect(HealthState::kLagging, HealthReason::kExecutionTime);
  // Too slow even without the wait.
  waiting(60, 100 * kMillisecond, {45 * kMillisecond, 0});
  expect(HealthState::kLagging, HealthReason::kExecutionTime);
  waiting(60, 20 * kMillisecond, {15 * kMillisecond, 0});
  expect(HealthState::kOk, HealthReason::kNone);
}

TEST_F(HealthStateTest, CauseOfSlownessDoesNotFlap) {
  start();
  waiting(60, 60 * kMillisecond, {40 * kMillisecond, 0});
  const uint64_t changes = health_.changes();
  // Around the border: without the wait 0.70 to 0.84 of the budget.
  for (int i = 0; i < 50; ++i) {
    waiting(3, 60 * kMillisecond, {18 * kMillisecond, 0});
    waiting(3, 60 * kMillisecond, {25 * kMillisecond, 0});
  }
  EXPECT_EQ(health_.changes(), changes);
  expect(HealthState::kLagging, HealthReason::kWaitingForCpu);
}

TEST_F(HealthStateTest, StandingReasonKeepsItFromBeingOk) {
  health_.set_standing(HealthReason::kArtifactUnsigned, clock_.monotonic());
  start();
  good(20);
  expect(HealthState::kDegraded, HealthReason::kArtifactUnsigned);
  health_.set_standing(HealthReason::kNone, clock_.monotonic());
  expect(HealthState::kOk, HealthReason::kNone);
}

TEST(FrameCounters, EveryReasonHasANameOfItsOwnAndAHealthReason) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    names.emplace_back(to_string(static_cast<DropReason>(i)));
    EXPECT_NE(health_reason(static_cast<DropReason>(i)), HealthReason::kNone);
  }
  for (size_t i = 1; i < kInvalidReasonCount; ++i) {
    names.emplace_back(to_string(static_cast<InvalidReason>(i)));
    EXPECT_NE(health_reason(static_cast<InvalidReason>(i)), HealthReason::kNone);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const std::string& name : names) EXPECT_FALSE(name.empty());
}

TEST(FrameCounters, AnswersAreValidOrCountedByReason) {
  FrameCounters counters;
  counters.answer(InvalidReason::kNone);
  counters.answer(InvalidReason::kTransform);
  counters.answer(InvalidReason::kTransform);
  counters.drop(DropReason::kOverrun);
  EXPECT_EQ(counters.published, 3u);
  EXPECT_EQ(counters.valid, 1u);
  EXPECT_EQ(counters.invalid(InvalidReason::kTransform), 2u);
  EXPECT_EQ(counters.invalid(InvalidReason::kNone), 0u);
  EXPECT_EQ(counters.dropped_total(), 1u);
}

}  // namespace
}  // namespace modeld
