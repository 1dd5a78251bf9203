// The rings a daemon makes before it confines itself.
#include "daemon/service/topic_rings.h"

#include <gmock/gmock.h>

namespace modeld {
namespace {

using testing::UnorderedElementsAre;

TEST(TopicRings, RoadDaemonNamesAllItsTopicsInBothGenerations) {
  DaemonConfig config = default_config(DaemonKind::kModeld);
  EXPECT_THAT(daemon_topics(config),
              UnorderedElementsAre("modelV2", "drivingModelData", "cameraOdometry", "modeldHealth",
                                   "deviceState", "narrowRoadCameraState", "extrinsicsCalibration",
                                   "lateralDelay", "driverMonitoringState", "carState",
                                   "carControl", "visionipc_camerad_0", "visionipc_camerad_2"));
  config.transport.names = TopicNames::kOld;
  config.camera.server = "other";
  EXPECT_THAT(daemon_topics(config),
              UnorderedElementsAre("modelV2", "drivingModelData", "cameraOdometry", "modeldHealth",
                                   "deviceState", "roadCameraState", "liveCalibration", "liveDelay",
                                   "driverMonitoringState", "carState", "carControl",
                                   "visionipc_other_0", "visionipc_other_2"));
}

TEST(TopicRings, MonitoringDaemonNamesItsOwn) {
  EXPECT_THAT(daemon_topics(default_config(DaemonKind::kDmonitoringmodeld)),
              UnorderedElementsAre("driverStateV2", "dmonitoringmodeldHealth",
                                   "extrinsicsCalibration", "visionipc_camerad_1"));
}

TEST(TopicRings, OtherTransportsNeedNone) {
  const auto rings = make_topic_rings(default_config(DaemonKind::kModeld), "");
  ASSERT_TRUE(rings.ok());
  EXPECT_TRUE(rings->empty());
}

}  // namespace
}  // namespace modeld
