#include "ipc/transport/topics.h"

#include <gtest/gtest.h>

#include <set>

namespace modeld::ipc {
namespace {

// Facts 2.1.
TEST(Topics, HashAndPortsAreOpenpilots) {
  EXPECT_EQ(topic_hash("modelV2"), 0x6dd919cdce381a42u);
  EXPECT_EQ(topic_hash("carState"), 0xd13cb0eda39e20d2u);
  const std::pair<const char*, int> ports[] = {{"modelV2", 58537},
                                               {"drivingModelData", 49244},
                                               {"cameraOdometry", 50972},
                                               {"driverStateV2", 45495},
                                               {"driverMonitoringState", 31369},
                                               {"carState", 9041},
                                               {"carControl", 63225},
                                               {"carOutput", 35759},
                                               {"carParams", 40326},
                                               {"deviceState", 17667},
                                               {"narrowRoadCameraState", 20911},
                                               {"roadCameraState", 12432},
                                               {"wideRoadCameraState", 53095},
                                               {"cabinCameraState", 15833},
                                               {"driverCameraState", 46980},
                                               {"extrinsicsCalibration", 32584},
                                               {"liveCalibration", 36768},
                                               {"lateralDelay", 34210},
                                               {"liveDelay", 53853},
                                               {"vehicleParameters", 53046},
                                               {"liveParameters", 25910},
                                               {"lateralTorqueParameters", 42937},
                                               {"liveTorqueParameters", 17408},
                                               {"deviceMotion", 15400},
                                               {"livePose", 59413},
                                               {"radarTracks", 30450},
                                               {"liveTracks", 26118},
                                               {"radarState", 34955},
                                               {"selfdriveState", 9797},
                                               {"controlsState", 44127},
                                               {"longitudinalPlan", 64229},
                                               {"narrowRoadEncodeIdx", 61532},
                                               {"roadEncodeIdx", 43171},
                                               {"wideRoadEncodeIdx", 25468},
                                               {"cabinEncodeIdx", 12454},
                                               {"driverEncodeIdx", 13015},
                                               {"qNarrowRoadEncodeIdx", 10561},
                                               {"qRoadEncodeIdx", 47334},
                                               {"narrowRoadEncodeData", 52737},
                                               {"roadEncodeData", 51336},
                                               {"wideRoadEncodeData", 42305},
                                               {"cabinEncodeData", 8495},
                                               {"driverEncodeData", 57332},
                                               {"can", 62300},
                                               {"sendcan", 50650},
                                               {"managerState", 44328},
                                               {"onroadEvents", 51810},
                                               {"chestnutState", 60153},
                                               {"chestnutGpuState", 11049},
                                               {"logMessage", 52879},
                                               {"testJoystick", 57078},
                                               {"userBookmark", 63289},
                                               {"soundPressure", 31790}};
  for (const auto& [name, port] : ports) EXPECT_EQ(topic_port(name), port) << name;
}

TEST(Topics, RenamedServicesAreFoundByBothNames) {
  const Service* service = find_service("liveCalibration");
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service, find_service("extrinsicsCalibration"));
  EXPECT_EQ(wire_name(*service, NameSet::kOld), "liveCalibration");
  EXPECT_EQ(wire_name(*service, NameSet::kNew), "extrinsicsCalibration");
  EXPECT_EQ(wire_name(*find_service("modelV2"), NameSet::kOld), "modelV2");
  EXPECT_EQ(find_service(""), nullptr);
  EXPECT_EQ(find_service("visionipc_camerad_0"), nullptr);
}

// Facts 2.4.
TEST(Topics, ServiceTable) {
  EXPECT_EQ(find_service("modelV2")->queue_bytes, 10485760u);
  EXPECT_EQ(find_service("controlsState")->queue_bytes, 2097152u);
  EXPECT_EQ(find_service("carState")->queue_bytes, 256000u);
  EXPECT_EQ(find_service("carState")->frequency_hz, 100);
  EXPECT_EQ(find_service("can")->log_decimation, 2053);
  EXPECT_EQ(find_service("gpsLocation")->frequency_hz, 1);
  std::set<std::string_view> names;
  for (const Service& service : services()) {
    EXPECT_TRUE(names.insert(service.name).second) << service.name;
    if (service.old_name.empty()) continue;
    EXPECT_TRUE(names.insert(service.old_name).second) << service.old_name;
  }
}

TEST(Topics, HostileNamesAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("../etc"), std::string("a/b"), std::string("a b"),
        std::string("a\0b", 3), std::string("modelV2\n"), std::string(65, 'a'),
        std::string(100000, 'x')}) {
    const auto status = check_topic_name(name);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_LT(to_string(status.error()).size(), 300u);
  }
  EXPECT_TRUE(check_topic_name(std::string(64, 'a')).ok());
}

TEST(Topics, DaemonsPublishTheirOwnTopicsOnly) {
  for (const Service& service : services()) {
    const bool road = service.name == "modelV2" || service.name == "drivingModelData" ||
                      service.name == "cameraOdometry" || service.name == "modeldHealth";
    const bool cabin = service.name == "driverStateV2" || service.name == "dmonitoringmodeldHealth";
    EXPECT_EQ(may_publish(Role::kModeld, service.name), road) << service.name;
    EXPECT_EQ(may_publish(Role::kDmonitoringmodeld, service.name), cabin) << service.name;
  }
  EXPECT_FALSE(may_publish(Role::kDesk, "sendcan"));
  EXPECT_TRUE(may_publish(Role::kDesk, notification_topic("camerad", 2)));
  EXPECT_EQ(notification_topic("camerad", 2), "visionipc_camerad_2");
  EXPECT_EQ(check_publish(Role::kModeld, "sendcan").error().code, ErrorCode::kPermission);
}

}  // namespace
}  // namespace modeld::ipc
