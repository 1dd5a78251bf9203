// What the messages of the rest of the system said last, as plain values.
#pragma once

#include <array>
#include <cstdint>

namespace modeld {

// Members keep their defaults until the first message: openpilot reads a missing message as zeros
// and gates on nothing but calibration (interoperability facts 7.3). Values are as received; who
// uses one checks that it is finite.
struct VehicleInputs {
  // carState
  float v_ego = 0;  // m/s
  bool left_blinker = false;
  bool right_blinker = false;
  bool steering_pressed = false;
  float steering_torque = 0;
  bool left_blindspot = false;
  bool right_blindspot = false;
  // carControl
  bool lat_active = false;
  // driverMonitoringState, either of its two forms
  bool is_rhd = false;
  // lateralDelay
  float lateral_delay = 0;  // s
  // deviceState, as on the wire (wire::InitData::DeviceType)
  bool device_state_seen = false;
  uint16_t device_type = 0;
  // narrowRoadCameraState; sensor as on the wire (wire::FrameData::ImageSensor)
  bool camera_state_seen = false;
  uint16_t sensor = 0;
  uint32_t camera_frame_id = 0;
  // extrinsicsCalibration; counts the messages, so that a new one can be told from the last
  uint64_t calibrations = 0;
  bool calibration_complete = false;  // the last message had three angles
  std::array<float, 3> rpy_calib{};   // rad
};

}  // namespace modeld
