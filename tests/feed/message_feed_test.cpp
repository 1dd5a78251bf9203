#include "tools/feed/message_feed.h"

#include <gtest/gtest.h>

#include "daemon/inputs/car_params.h"
#include "daemon/inputs/road_transforms.h"
#include "daemon/inputs/topic_inputs.h"
#include "ipc/transport/memory_transport.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

// What the daemon makes of the feed: everything seen, nothing rejected, a usable calibration.
class MessageFeedTest : public testing::TestWithParam<ipc::NameSet> {};

TEST_P(MessageFeedTest, FeedsEverythingTheDaemonsListenTo) {
  ManualClock clock;
  ipc::MemoryTransport transport(clock);
  auto inputs = TopicInputs::open(transport, GetParam(), driving_services());
  ASSERT_TRUE(inputs.ok());
  auto feed = MessageFeed::create(clock, transport, GetParam(), 1208);
  ASSERT_TRUE(feed.ok()) << to_string(feed.error());
  ASSERT_TRUE((*feed)->device_state().ok());
  ASSERT_TRUE((*feed)->calibration().ok());
  ASSERT_TRUE((*feed)->lateral_delay().ok());
  ASSERT_TRUE((*feed)->driver_monitoring_state().ok());
  ASSERT_TRUE((*feed)->car_state().ok());
  ASSERT_TRUE((*feed)->car_control().ok());
  ASSERT_TRUE((*feed)->camera_state("narrowRoadCameraState", 9, 1, 2).ok());
  VehicleInputs values;
  ASSERT_TRUE(inputs->poll(clock.monotonic(), values).ok());
  for (const TopicInput& input : inputs->topics()) {
    EXPECT_EQ(input.tracker.received_count(), 1u) << input.topic;
    EXPECT_EQ(input.tracker.rejected_count(), 0u) << input.topic;
    EXPECT_TRUE(input.tracker.valid()) << input.topic;
  }
  EXPECT_EQ(values.camera_frame_id, 9u);
  RoadTransforms transforms(RoadStreams::kNarrowAndWide, {512, 256}, {512, 256});
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kNone) << transforms.detail();
  EXPECT_EQ(transforms.narrow_camera()->height, 1208u);
}

INSTANTIATE_TEST_SUITE_P(Names, MessageFeedTest,
                         testing::Values(ipc::NameSet::kNew, ipc::NameSet::kOld),
                         [](const auto& tested) {
                           return tested.param == ipc::NameSet::kNew ? "New" : "Old";
                         });

TEST(MessageFeed, CarParamsAreReadByTheDaemon) {
  const test::TempDir folder;
  const auto params = folder.path() / "params" / "d";  // made with them
  ASSERT_TRUE(MessageFeed::write_car_params(params).ok());
  const auto read = read_car_params(params);
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  ASSERT_TRUE(read->has_value());
  EXPECT_GT((*read)->longitudinal_actuator_delay, 0);
}

}  // namespace
}  // namespace modeld
