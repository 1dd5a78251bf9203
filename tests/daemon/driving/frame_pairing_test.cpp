#include "daemon/driving/frame_pairing.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace modeld::driving {
namespace {

using Step = FramePairing::Step;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kStart = 1000 * kMs;

TEST(FramePairing, FramesOfOneMomentPair) {
  FramePairing pairing(true);
  for (uint64_t frame = 0; frame < 5; ++frame) {
    const uint64_t sof = kStart + 50 * frame * kMs;
    ASSERT_EQ(pairing.step(), Step::kReceiveMain);
    pairing.on_main(sof);
    ASSERT_EQ(pairing.step(), Step::kReceiveExtra);
    pairing.on_extra(sof + kMs);
    ASSERT_EQ(pairing.step(), Step::kPaired);
    EXPECT_FALSE(pairing.far_apart());
    pairing.used();
  }
}

TEST(FramePairing, OldExtraFramesAreDropped) {
  FramePairing pairing(true);
  pairing.on_main(kStart);
  pairing.on_extra(kStart - 100 * kMs);
  EXPECT_EQ(pairing.step(), Step::kReceiveExtra);
  pairing.on_extra(kStart - 25 * kMs);  // exactly 25 ms is too old
  EXPECT_EQ(pairing.step(), Step::kReceiveExtra);
  pairing.on_extra(kStart - 25 * kMs + 1);
  EXPECT_EQ(pairing.step(), Step::kPaired);
  EXPECT_TRUE(pairing.far_apart());
}

TEST(FramePairing, MainFramesWaitForTheExtraCameraToBePassed) {
  FramePairing pairing(true);
  pairing.on_main(kStart);
  pairing.on_extra(kStart + 40 * kMs);
  ASSERT_EQ(pairing.step(), Step::kPaired);  // a newer extra frame is taken as it is
  pairing.used();
  pairing.on_main(kStart + 50 * kMs);  // 10 ms ahead of the last extra frame
  EXPECT_EQ(pairing.step(), Step::kReceiveMain);
  pairing.on_main(kStart + 65 * kMs);
  EXPECT_EQ(pairing.step(), Step::kReceiveExtra);
}

TEST(FramePairing, AMissingMainFrameStartsOver) {
  FramePairing pairing(true);
  pairing.on_main({});
  EXPECT_EQ(pairing.step(), Step::kReceiveMain);
  pairing.on_main(kStart);
  EXPECT_EQ(pairing.step(), Step::kReceiveExtra);
}

TEST(FramePairing, AMainFrameIsKeptOverAMissingExtraOne) {
  FramePairing pairing(true);
  pairing.on_main(kStart);
  for (int i = 0; i < 3; ++i) {
    pairing.on_extra({});
    EXPECT_EQ(pairing.step(), Step::kReceiveExtra);
  }
  pairing.on_extra(kStart + kMs);
  EXPECT_EQ(pairing.step(), Step::kPaired);
}

TEST(FramePairing, FarApartIsMoreThanTenMilliseconds) {
  for (const auto& [offset, far] :
       {std::pair<uint64_t, bool>{10 * kMs, false}, {10 * kMs + 1, true}}) {
    FramePairing early(true);
    early.on_main(kStart);
    early.on_extra(kStart - offset);
    EXPECT_EQ(early.far_apart(), far);
    FramePairing late(true);
    late.on_main(kStart);
    late.on_extra(kStart + offset);
    EXPECT_EQ(late.far_apart(), far);
  }
}

TEST(FramePairing, OneCameraStandsForBoth) {
  FramePairing pairing(false);
  pairing.on_main(kStart);
  ASSERT_EQ(pairing.step(), Step::kPaired);
  EXPECT_FALSE(pairing.far_apart());
  pairing.used();
  ASSERT_EQ(pairing.step(), Step::kReceiveMain);
  pairing.on_main(kStart + 24 * kMs);  // too close to the last
  EXPECT_EQ(pairing.step(), Step::kReceiveMain);
  pairing.on_main(kStart + 50 * kMs);
  EXPECT_EQ(pairing.step(), Step::kPaired);
}

// Frames of both cameras, the clock set back by an hour between two of them.
class ClockSetBack : public testing::TestWithParam<bool> {};

TEST_P(ClockSetBack, PairsAgainWithinTwoFrames) {
  const bool between_the_cameras = GetParam();
  constexpr uint64_t kHour = 3'600'000 * kMs;
  FramePairing pairing(true);
  uint64_t now = 2 * kHour;
  const auto frame = [&] {
    now += 50 * kMs;
    if (pairing.step() == Step::kReceiveMain) pairing.on_main(now);
  };
  frame();
  pairing.on_extra(now);
  ASSERT_EQ(pairing.step(), Step::kPaired);
  pairing.used();
  if (between_the_cameras) {
    frame();
    now -= kHour;
    pairing.on_extra(now);
    EXPECT_EQ(pairing.step(), Step::kReceiveMain);
  } else {
    const uint64_t waiting = now + 50 * kMs;  // in the extra camera's queue
    now -= kHour;
    frame();
    ASSERT_EQ(pairing.step(), Step::kReceiveExtra);
    pairing.on_extra(waiting);
    EXPECT_EQ(pairing.step(), Step::kReceiveExtra);
    pairing.on_extra(now);
    EXPECT_EQ(pairing.step(), Step::kPaired);
    EXPECT_FALSE(pairing.far_apart());
    pairing.used();
  }
  for (int i = 0; i < 2; ++i) {
    frame();
    ASSERT_EQ(pairing.step(), Step::kReceiveExtra);
    pairing.on_extra(now);
    ASSERT_EQ(pairing.step(), Step::kPaired);
    EXPECT_FALSE(pairing.far_apart());
    pairing.used();
  }
}

INSTANTIATE_TEST_SUITE_P(Where, ClockSetBack, testing::Bool(), [](const auto& one) {
  return std::string(one.param ? "BetweenTheCameras" : "BetweenFrames");
});

TEST(FramePairing, OneCameraWhoseClockIsSetBackPairsAtOnce) {
  FramePairing pairing(false);
  pairing.on_main(kStart + 3'600'000 * kMs);
  pairing.used();
  pairing.on_main(kStart);
  EXPECT_EQ(pairing.step(), Step::kPaired);
}

TEST(FramePairing, HugeTimesDoNotWrap) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  FramePairing pairing(true);
  pairing.on_main(kStart);
  pairing.on_extra(kMax);
  ASSERT_EQ(pairing.step(), Step::kPaired);
  EXPECT_TRUE(pairing.far_apart());
  pairing.used();
  pairing.on_main(kStart + 50 * kMs);
  EXPECT_EQ(pairing.step(), Step::kReceiveMain);
}

}  // namespace
}  // namespace modeld::driving
