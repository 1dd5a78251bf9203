#include "daemon/inputs/topic_inputs.h"

#include <algorithm>
#include <array>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"

namespace modeld {
namespace {

constexpr std::array<std::string_view, 7> kDrivingServices = {
    "deviceState",  "narrowRoadCameraState", "extrinsicsCalibration",
    "lateralDelay", "driverMonitoringState", "carState",
    "carControl"};
constexpr std::array<std::string_view, 1> kMonitoringServices = {"extrinsicsCalibration"};

// A second of frames, so that a stall of the cameras is not taken for one of a topic.
constexpr size_t kAveragedPolls = 20;

void read_calibration(wire::ExtrinsicsCalibration::Reader message, VehicleInputs& values) {
  const auto rpy = message.getRpyCalib();
  values.calibration_complete = rpy.size() == values.rpy_calib.size();
  for (size_t i = 0; i < values.rpy_calib.size(); ++i) {
    values.rpy_calib[i] = values.calibration_complete ? rpy[static_cast<unsigned>(i)] : 0.0f;
  }
  ++values.calibrations;
}

void read_car_state(wire::CarState::Reader message, VehicleInputs& values) {
  values.v_ego = message.getVEgo();
  values.left_blinker = message.getLeftBlinker();
  values.right_blinker = message.getRightBlinker();
  values.steering_pressed = message.getSteeringPressed();
  values.steering_torque = message.getSteeringTorque();
  values.left_blindspot = message.getLeftBlindspot();
  values.right_blindspot = message.getRightBlindspot();
}

// The newest name of the service an event belongs to; empty for kinds nobody here listens to.
std::string_view read_event(wire::Event::Reader event, VehicleInputs& values) {
  switch (event.which()) {
    case wire::Event::DEVICE_STATE:
      values.device_type = static_cast<uint16_t>(event.getDeviceState().getDeviceType());
      values.device_state_seen = true;
      return "deviceState";
    case wire::Event::NARROW_ROAD_CAMERA_STATE: {
      const auto state = event.getNarrowRoadCameraState();
      values.sensor = static_cast<uint16_t>(state.getSensor());
      values.camera_frame_id = state.getFrameId();
      values.camera_state_seen = true;
      return "narrowRoadCameraState";
    }
    case wire::Event::EXTRINSICS_CALIBRATION:
      read_calibration(event.getExtrinsicsCalibration(), values);
      return "extrinsicsCalibration";
    case wire::Event::LATERAL_DELAY:
      values.lateral_delay = event.getLateralDelay().getLateralDelay();
      return "lateralDelay";
    case wire::Event::DRIVER_MONITORING_STATE:
      values.is_rhd = event.getDriverMonitoringState().getIsRHD();
      return "driverMonitoringState";
    case wire::Event::DRIVER_MONITORING_STATE_D_E_P_R_E_C_A_T_E_D:
      values.is_rhd = event.getDriverMonitoringStateDEPRECATED().getIsRHD();
      return "driverMonitoringState";
    case wire::Event::CAR_STATE:
      read_car_state(event.getCarState(), values);
      return "carState";
    case wire::Event::CAR_CONTROL:
      values.lat_active = event.getCarControl().getLatActive();
      return "carControl";
    default:
      return {};
  }
}

}  // namespace

std::span<const std::string_view> driving_services() {
  return kDrivingServices;
}

std::span<const std::string_view> monitoring_services() {
  return kMonitoringServices;
}

TopicInputs::TopicInputs()
    : polls_(kAveragedPolls), reader_(std::make_unique<ipc::MessageReader>()) {}

Result<TopicInputs> TopicInputs::open(ipc::Transport& transport, ipc::NameSet names,
                                      std::span<const std::string_view> services) {
  TopicInputs inputs;
  for (const std::string_view name : services) {
    const ipc::Service* service = ipc::find_service(name);
    if (service == nullptr) {
      return Error(ErrorCode::kInternal, "no such service: " + std::string(name));
    }
    const std::string_view topic = ipc::wire_name(*service, names);
    MODELD_ASSIGN(auto subscriber, transport.subscriber(topic, ipc::SubscribeMode::kConflate));
    inputs.topics_.push_back(
        {service, topic, std::move(subscriber), InputTracker(service->frequency_hz)});
  }
  return inputs;
}

TopicInput* TopicInputs::find(std::string_view service) {
  const auto found = std::find_if(topics_.begin(), topics_.end(), [&](const TopicInput& topic) {
    return topic.service->name == service;
  });
  return found == topics_.end() ? nullptr : &*found;
}

void TopicInputs::take(TopicInput& from, std::span<const std::byte> message, Nanoseconds now,
                       VehicleInputs& values) {
  // Decoded into a copy: half a message that turns out to be broken leaves nothing behind.
  VehicleInputs decoded = values;
  std::string_view kind;
  bool valid = false;
  const Status read = ipc::read_event(*reader_, message, [&](wire::Event::Reader event) {
    kind = read_event(event, decoded);
    valid = event.getValid();
  });
  TopicInput* topic = read.ok() ? find(kind) : nullptr;
  if (topic == nullptr) {
    from.tracker.rejected();
    return;
  }
  values = decoded;
  topic->tracker.received(now, valid);
}

Status TopicInputs::poll(Nanoseconds now, VehicleInputs& values) {
  if (last_poll_ != 0) polls_.add(now - last_poll_);
  last_poll_ = now;
  for (TopicInput& topic : topics_) {
    while (true) {
      MODELD_ASSIGN(const auto message, topic.subscriber->receive());
      if (!message) break;
      take(topic, *message, now, values);
    }
  }
  return {};
}

const TopicInput* TopicInputs::find_stale(Nanoseconds now) const {
  const auto found = std::find_if(topics_.begin(), topics_.end(), [&](const TopicInput& topic) {
    return topic.tracker.stale(now);
  });
  return found == topics_.end() ? nullptr : &*found;
}

std::string_view device_type_name(uint16_t device_type) {
  constexpr std::array<std::string_view, 8> kNames = {"unknown", "neo", "chffrAndroid", "chffrIos",
                                                      "tici",    "pc",  "tizi",         "mici"};
  return device_type < kNames.size() ? kNames[device_type] : "unlisted";
}

std::string_view sensor_name(uint16_t sensor) {
  constexpr std::array<std::string_view, 4> kNames = {"unknown", "ar0231", "ox03c10", "os04c10"};
  return sensor < kNames.size() ? kNames[sensor] : "unlisted";
}

}  // namespace modeld
