// The driver-monitoring model's outputs after parsing. Source: facts 4.7.
#pragma once

#include <array>

namespace modeld::monitoring {

struct DriverOutputs {
  std::array<float, 3> face_orientation{};  // rad
  std::array<float, 3> face_orientation_deviation{};
  std::array<float, 2> face_position{};
  std::array<float, 2> face_position_deviation{};
  float face_prob = 0.0f;
  float left_eye_prob = 0.0f;
  float right_eye_prob = 0.0f;
  float left_blink_prob = 0.0f;
  float right_blink_prob = 0.0f;
  float sunglasses_prob = 0.0f;
  float using_phone_prob = 0.0f;
  float sleep_prob = 0.0f;
};

struct MonitoringOutputs {
  float wheel_on_right_prob = 0.0f;
  DriverOutputs left;   // heads "..._lhd": who sits left
  DriverOutputs right;  // heads "..._rhd"
};

}  // namespace modeld::monitoring
