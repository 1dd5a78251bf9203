#include "ipc/transport/topics.h"

#include <algorithm>
#include <array>

namespace modeld::ipc {
namespace {

constexpr size_t kBig = 10485760;
constexpr size_t kMedium = 2097152;
constexpr size_t kSmall = 256000;

// name, old name, Hz, decimation in the short log, queue, logged
constexpr std::array kServices = std::to_array<Service>({
    {"modelV2", "", 20, 0, kBig, true},
    {"drivingModelData", "", 20, 10, kSmall, true},
    {"cameraOdometry", "", 20, 10, kSmall, true},
    {"driverStateV2", "", 20, 10, kSmall, true},
    {"driverMonitoringState", "", 20, 10, kSmall, true},
    {"carState", "", 100, 10, kSmall, true},
    {"carControl", "", 100, 10, kSmall, true},
    {"carOutput", "", 100, 10, kSmall, true},
    {"carParams", "", 0.02, 1, kSmall, true},
    {"deviceState", "", 2, 1, kSmall, true},
    {"narrowRoadCameraState", "roadCameraState", 20, 20, kSmall, true},
    {"wideRoadCameraState", "", 20, 20, kSmall, true},
    {"cabinCameraState", "driverCameraState", 20, 20, kSmall, true},
    {"extrinsicsCalibration", "liveCalibration", 4, 4, kSmall, true},
    {"lateralDelay", "liveDelay", 4, 1, kSmall, true},
    {"lateralTorqueParameters", "liveTorqueParameters", 4, 1, kSmall, true},
    {"vehicleParameters", "liveParameters", 20, 5, kSmall, true},
    {"deviceMotion", "livePose", 20, 4, kSmall, true},
    {"narrowRoadEncodeIdx", "roadEncodeIdx", 20, 1, kSmall, false},
    {"wideRoadEncodeIdx", "", 20, 1, kSmall, false},
    {"cabinEncodeIdx", "driverEncodeIdx", 20, 1, kSmall, false},
    {"qNarrowRoadEncodeIdx", "qRoadEncodeIdx", 20, 0, kSmall, false},
    {"narrowRoadEncodeData", "roadEncodeData", 20, 0, kBig, false},
    {"wideRoadEncodeData", "", 20, 0, kBig, false},
    {"cabinEncodeData", "driverEncodeData", 20, 0, kBig, false},
    {"qNarrowRoadEncodeData", "qRoadEncodeData", 20, 0, kBig, false},
    {"livestreamNarrowRoadEncodeIdx", "livestreamRoadEncodeIdx", 20, 0, kSmall, false},
    {"livestreamWideRoadEncodeIdx", "", 20, 0, kSmall, false},
    {"livestreamCabinEncodeIdx", "livestreamDriverEncodeIdx", 20, 0, kSmall, false},
    {"livestreamNarrowRoadEncodeData", "livestreamRoadEncodeData", 20, 0, kMedium, false},
    {"livestreamWideRoadEncodeData", "", 20, 0, kMedium, false},
    {"livestreamCabinEncodeData", "livestreamDriverEncodeData", 20, 0, kMedium, false},
    {"chestnutState", "", 10, 10, kSmall, true},
    {"selfdriveState", "", 100, 10, kSmall, true},
    {"controlsState", "", 100, 10, kMedium, true},
    {"can", "", 100, 2053, kBig, true},
    {"sendcan", "", 100, 139, kMedium, true},
    {"pandaStates", "", 10, 1, kSmall, true},
    {"peripheralState", "", 2, 1, kSmall, true},
    {"radarState", "", 20, 5, kSmall, true},
    {"radarTracks", "liveTracks", 20, 0, kSmall, true},
    {"longitudinalPlan", "", 20, 10, kSmall, true},
    {"lateralManeuverPlan", "", 20, 0, kSmall, true},
    {"driverAssistance", "", 20, 20, kSmall, true},
    {"gyroscope", "", 104, 104, kSmall, true},
    {"accelerometer", "", 104, 104, kSmall, true},
    {"temperatureSensor", "", 2, 200, kSmall, true},
    {"gpsLocationExternal", "", 10, 10, kSmall, true},
    {"gpsLocation", "", 1, 1, kSmall, true},
    {"ubloxGnss", "", 10, 0, kSmall, true},
    {"qcomGnss", "", 2, 0, kSmall, true},
    {"ubloxRaw", "", 20, 0, kSmall, true},
    {"clocks", "", 0.1, 1, kSmall, true},
    {"thumbnail", "", 1.0 / 60, 1, kSmall, true},
    {"onroadEvents", "", 1, 1, kSmall, true},
    {"managerState", "", 2, 1, kSmall, true},
    {"procLog", "", 0.5, 15, kBig, true},
    {"logMessage", "", 0, 0, kBig, true},
    {"errorLogMessage", "", 0, 1, kBig, true},
    {"operatingSystemLog", "androidLog", 0, 0, kSmall, true},
    {"touch", "", 20, 1, kSmall, true},
    {"soundPressure", "microphone", 10, 10, kSmall, true},
    {"rawAudioData", "", 20, 0, kSmall, false},
    {"userBookmark", "userFlag", 0, 1, kSmall, true},
    {"bookmarkButton", "", 0, 1, kSmall, true},
    {"uiDebug", "", 0, 1, kSmall, true},
    {"testJoystick", "", 0, 0, kSmall, true},
    {"alertDebug", "", 20, 5, kSmall, true},
    {"customReservedRawData0", "", 0, 0, kSmall, true},
    {kModeldHealthTopic, "", 2, 0, kSmall, false},
    {kDmonitoringmodeldHealthTopic, "", 2, 0, kSmall, false},
});

constexpr uint16_t kFirstPort = 8023;
constexpr uint16_t kLastPort = 65535;

constexpr std::array<std::string_view, 4> kModeldTopics = {"modelV2", "drivingModelData",
                                                           "cameraOdometry", kModeldHealthTopic};
constexpr std::array<std::string_view, 2> kDmonitoringmodeldTopics = {
    "driverStateV2", kDmonitoringmodeldHealthTopic};

bool is_topic_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::kModeld:
      return "modeld";
    case Role::kDmonitoringmodeld:
      return "dmonitoringmodeld";
    case Role::kDesk:
      return "desk tool";
  }
  return "?";
}

}  // namespace

std::span<const Service> services() {
  return kServices;
}

const Service* find_service(std::string_view name) {
  if (name.empty()) return nullptr;
  const auto found = std::ranges::find_if(kServices, [name](const Service& service) {
    return service.name == name || service.old_name == name;
  });
  return found == kServices.end() ? nullptr : &*found;
}

std::string_view wire_name(const Service& service, NameSet names) {
  return names == NameSet::kOld && !service.old_name.empty() ? service.old_name : service.name;
}

Status check_topic_name(std::string_view topic) {
  if (topic.empty() || topic.size() > kMaxTopicLength) {
    return Error(ErrorCode::kInvalidArgument, "topic name of a wrong length")
        .expecting("1 to " + std::to_string(kMaxTopicLength) + " characters",
                   std::to_string(topic.size()));
  }
  const auto bad = std::ranges::find_if_not(topic, is_topic_character);
  if (bad != topic.end()) {
    return Error(ErrorCode::kInvalidArgument, "topic name with a character that is not allowed")
        .expecting("letters, digits and _", "code " +
                                                std::to_string(static_cast<unsigned char>(*bad)) +
                                                " at " + std::to_string(bad - topic.begin()));
  }
  return {};
}

uint64_t topic_hash(std::string_view topic) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : topic) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

uint16_t topic_port(std::string_view topic) {
  return static_cast<uint16_t>(kFirstPort + topic_hash(topic) % (kLastPort - kFirstPort));
}

std::span<const std::string_view> published_topics(Role role) {
  switch (role) {
    case Role::kModeld:
      return kModeldTopics;
    case Role::kDmonitoringmodeld:
      return kDmonitoringmodeldTopics;
    case Role::kDesk:
      break;
  }
  return {};
}

bool may_publish(Role role, std::string_view topic) {
  if (role == Role::kDesk) return topic != "sendcan";
  const auto own = published_topics(role);
  return std::ranges::find(own, topic) != own.end();
}

Status check_publish(Role role, std::string_view topic) {
  MODELD_TRY(check_topic_name(topic));
  if (may_publish(role, topic)) return {};
  return Error(ErrorCode::kPermission, "publishing topic " + std::string(topic) +
                                           " is not the business of a " +
                                           std::string(to_string(role)));
}

std::string notification_topic(std::string_view server, uint32_t stream_type) {
  return "visionipc_" + std::string(server) + "_" + std::to_string(stream_type);
}

}  // namespace modeld::ipc
