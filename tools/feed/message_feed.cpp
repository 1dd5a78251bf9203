#include "tools/feed/message_feed.h"

#include <capnp/message.h>

#include <array>

#include "ipc/schema/log.capnp.h"
#include "runtime/base/file.h"

namespace modeld {
namespace {

constexpr std::array<std::string_view, 9> kServices = {"deviceState",
                                                       "extrinsicsCalibration",
                                                       "lateralDelay",
                                                       "driverMonitoringState",
                                                       "carState",
                                                       "carControl",
                                                       "narrowRoadCameraState",
                                                       "wideRoadCameraState",
                                                       "cabinCameraState"};

constexpr size_t kMessageBytes = 4096;
constexpr float kSpeed = 20.0f;                                 // m/s
constexpr float kLateralDelay = 0.2f;                           // s
constexpr float kActuatorDelay = 0.15f;                         // s
constexpr std::array<float, 3> kRpy = {0.0f, 0.012f, -0.008f};  // rad: mounted a little askew

wire::Event::Builder begin(ipc::MessageWriter& writer, const Clock& clock) {
  auto event = writer.begin().initRoot<wire::Event>();
  event.setLogMonoTime(static_cast<uint64_t>(clock.monotonic()));
  event.setValid(true);
  return event;
}

wire::FrameData::Builder camera_state_of(wire::Event::Builder event, std::string_view service) {
  if (service == "wideRoadCameraState") return event.initWideRoadCameraState();
  if (service == "cabinCameraState") return event.initCabinCameraState();
  return event.initNarrowRoadCameraState();
}

}  // namespace

MessageFeed::MessageFeed(const Clock& clock, uint32_t frame_height)
    : clock_(clock), frame_height_(frame_height), writer_(kMessageBytes) {}

Result<std::unique_ptr<MessageFeed>> MessageFeed::create(const Clock& clock,
                                                         ipc::Transport& transport,
                                                         ipc::NameSet names,
                                                         uint32_t frame_height) {
  std::unique_ptr<MessageFeed> feed(new MessageFeed(clock, frame_height));
  for (const std::string_view service : kServices) {
    const std::string_view topic = ipc::wire_name(*ipc::find_service(service), names);
    MODELD_ASSIGN(auto publisher, transport.publisher(topic));
    feed->publishers_.emplace(service, std::move(publisher));
  }
  return feed;
}

Status MessageFeed::send(std::string_view service) {
  MODELD_ASSIGN(const auto bytes, writer_.finish());
  return publishers_.find(service)->second->send(bytes);
}

Status MessageFeed::send_bytes(std::string_view service, std::span<const std::byte> message) {
  const auto found = publishers_.find(service);
  if (found == publishers_.end()) {
    return Error(ErrorCode::kInvalidArgument,
                 "not a service of this feed: " + std::string(service));
  }
  return found->second->send(message);
}

Status MessageFeed::device_state() {
  auto state = begin(writer_, clock_).initDeviceState();
  state.setDeviceType(wire::InitData::DeviceType::TICI);
  state.setStarted(true);
  return send("deviceState");
}

Status MessageFeed::calibration() {
  auto calibration = begin(writer_, clock_).initExtrinsicsCalibration();
  calibration.setCalStatus(wire::ExtrinsicsCalibration::Status::CALIBRATED);
  calibration.setCalPerc(100);
  auto rpy = calibration.initRpyCalib(kRpy.size());
  for (uint32_t i = 0; i < kRpy.size(); ++i) rpy.set(i, kRpy[i]);
  calibration.initHeight(1).set(0, 1.22f);
  return send("extrinsicsCalibration");
}

Status MessageFeed::lateral_delay() {
  auto delay = begin(writer_, clock_).initLateralDelay();
  delay.setLateralDelay(kLateralDelay);
  delay.setStatus(wire::LateralDelay::Status::ESTIMATED);
  return send("lateralDelay");
}

Status MessageFeed::driver_monitoring_state() {
  auto state = begin(writer_, clock_).initDriverMonitoringState();
  state.setIsRHD(false);
  return send("driverMonitoringState");
}

Status MessageFeed::car_state() {
  auto state = begin(writer_, clock_).initCarState();
  state.setVEgo(kSpeed);
  state.setVEgoRaw(kSpeed);
  state.setCanValid(true);
  state.setGearShifter(wire::CarState::GearShifter::DRIVE);
  return send("carState");
}

Status MessageFeed::car_control() {
  auto control = begin(writer_, clock_).initCarControl();
  control.setEnabled(true);
  control.setLatActive(true);
  control.setLongActive(true);
  return send("carControl");
}

Status MessageFeed::camera_state(std::string_view service, uint32_t frame_id, uint64_t sof_ns,
                                 uint64_t eof_ns) {
  auto state = camera_state_of(begin(writer_, clock_), service);
  state.setFrameId(frame_id);
  state.setTimestampSof(sof_ns);
  state.setTimestampEof(eof_ns);
  state.setSensor(frame_height_ == 760 ? wire::FrameData::ImageSensor::OS04C10
                                       : wire::FrameData::ImageSensor::OX03C10);
  return send(service);
}

Status MessageFeed::write_car_params(const std::filesystem::path& folder) {
  ipc::MessageWriter writer(kMessageBytes);
  auto params = writer.begin().initRoot<wire::CarParams>();
  params.setBrand("demonstration");
  params.setCarFingerprint("A CAR THAT IS NOT THERE");
  params.setWheelbase(2.7f);
  params.setSteerRatio(15.0f);
  params.setSteerActuatorDelay(0.1f);
  params.setLongitudinalActuatorDelay(kActuatorDelay);
  params.setOpenpilotLongitudinalControl(true);
  MODELD_ASSIGN(const auto bytes, writer.finish());
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) return errno_error("making " + folder.string(), failure.value());
  return write_file_atomically(folder / "CarParams", bytes);
}

}  // namespace modeld
