#include <gtest/gtest.h>

#include "daemon/engine/frame_runner.h"

namespace modeld {
namespace {

PhaseTimes phase(Nanoseconds started, Nanoseconds ended) {
  return {90, 95, started, ended};
}

ReplayReport report() {
  ReplayReport made;
  made.phases[static_cast<size_t>(Phase::kUpload)] = phase(100, 110);
  made.phases[static_cast<size_t>(Phase::kWarp)] = phase(110, 140);
  made.phases[static_cast<size_t>(Phase::kHistory)] = phase(105, 400);  // around the network
  made.phases[static_cast<size_t>(Phase::kModel)] = phase(150, 390);
  made.phases[static_cast<size_t>(Phase::kDownload)] = phase(400, 405);
  return made;
}

TEST(DeviceTimes, StretchesDoNotCountTwice) {
  FrameTimes times;
  add_device_times(report(), times);
  EXPECT_EQ(times[FramePhase::kQueue], 10);
  EXPECT_EQ(times[FramePhase::kUpload], 10);
  EXPECT_EQ(times[FramePhase::kWarp], 30);
  EXPECT_EQ(times[FramePhase::kModel], 260);  // from the warps' end to the last history step
  EXPECT_EQ(times[FramePhase::kDownload], 5);
}

TEST(DeviceTimes, ModelWithoutHistory) {
  ReplayReport made = report();
  made.phases[static_cast<size_t>(Phase::kHistory)] = {};
  FrameTimes times;
  add_device_times(made, times);
  EXPECT_EQ(times[FramePhase::kModel], 240);
}

TEST(DeviceTimes, DeviceThatDoesNotTellLeavesZeros) {
  FrameTimes times;
  add_device_times(ReplayReport{}, times);
  for (const Nanoseconds duration : times.duration) EXPECT_EQ(duration, 0);
}

TEST(DeviceTimes, HostShareOfTheUploadStays) {
  FrameTimes times;
  times[FramePhase::kUpload] = 7;
  add_device_times(report(), times);
  EXPECT_EQ(times[FramePhase::kUpload], 17);
}

}  // namespace
}  // namespace modeld
