#include "tools/demo/demo_verdict.h"

#include <gtest/gtest.h>

namespace modeld {
namespace {

// Frames 1 to `count`, 50 ms apart, valid from `valid_from` on.
HeardDaemon heard(uint32_t count, uint32_t valid_from = 1) {
  HeardDaemon daemon;
  daemon.name = "modeld";
  for (uint32_t id = 1; id <= count; ++id) {
    daemon.answers[id] = {kSecond + id * 50 * kMillisecond, id >= valid_from};
  }
  return daemon;
}

TEST(DemoVerdict, EverythingAnsweredPasses) {
  const DaemonVerdict verdict = judge({21, 300}, heard(300, 30));
  EXPECT_EQ(verdict.sent, 280u);
  EXPECT_EQ(verdict.answered, 280u);
  // The first 2 s are 40 frames and do not count.
  EXPECT_EQ(verdict.judged, 260u);
  EXPECT_EQ(verdict.valid, 260u);
  EXPECT_TRUE(verdict.failures.empty());
}

TEST(DemoVerdict, ExactlyNinetyFivePercentPassesAndLessFails) {
  HeardDaemon daemon = heard(100);
  for (uint32_t id = 1; id <= 5; ++id) daemon.answers.erase(id * 10);
  EXPECT_TRUE(judge({1, 100}, daemon).failures.empty());
  daemon.answers.erase(55);
  const DaemonVerdict verdict = judge({1, 100}, daemon);
  ASSERT_EQ(verdict.failures.size(), 1u);
  EXPECT_EQ(verdict.failures[0],
            "modeld: frames answered: 94 of 100 (expected at least 95 %, found 94.0 %)");
}

TEST(DemoVerdict, InvalidAnswersFail) {
  const DaemonVerdict verdict = judge({1, 200}, heard(200, 100));
  ASSERT_EQ(verdict.failures.size(), 1u);
  EXPECT_NE(verdict.failures[0].find("valid answers: 101 of 160"), std::string::npos)
      << verdict.failures[0];
}

TEST(DemoVerdict, NothingHeardFailsOnBothCounts) {
  EXPECT_EQ(judge({1, 200}, HeardDaemon{}).failures.size(), 2u);
  // Nothing sent is no success either.
  EXPECT_FALSE(judge({}, heard(100)).failures.empty());
}

TEST(DemoVerdict, AnswersWithoutTheirCompanionsFail) {
  HeardDaemon daemon = heard(200);
  daemon.companions_per_answer = 2;
  daemon.companions = 400;
  EXPECT_TRUE(judge({1, 200}, daemon).failures.empty());
  daemon.companions = 200;
  ASSERT_EQ(judge({1, 200}, daemon).failures.size(), 1u);
  EXPECT_NE(judge({1, 200}, daemon).failures[0].find("200 of 400"), std::string::npos);
}

TEST(DemoVerdict, NumbersThatAreNotFiniteFail) {
  HeardDaemon daemon = heard(200);
  daemon.not_finite = 1;
  daemon.first_not_finite = "modelV2, frame 7";
  const DaemonVerdict verdict = judge({1, 200}, daemon);
  ASSERT_EQ(verdict.failures.size(), 1u);
  EXPECT_NE(verdict.failures[0].find("modelV2, frame 7"), std::string::npos);
}

TEST(DemoVerdict, WhatTheDaemonCountedAndNobodyHeardIsNamed) {
  HeardDaemon daemon = heard(200);
  EXPECT_EQ(judge({1, 200}, daemon).unheard, 0u);
  daemon.health.published = 206;
  EXPECT_EQ(judge({1, 200}, daemon).unheard, 6u);
}

}  // namespace
}  // namespace modeld
