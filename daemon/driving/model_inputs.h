// The small inputs the road model gets beside the pictures. Source: facts 4.4 and 4.5.
#pragma once

#include <array>

#include "daemon/driving/action.h"
#include "daemon/driving/constants.h"
#include "daemon/driving/desire_helper.h"

namespace modeld::driving {

// One frame of 1 for every change to a new desire.
class DesirePulse {
 public:
  // The desire the frame is run with; the result is that frame's input `desire_pulse`.
  std::array<float, kDesireCount> update(Desire desire);

 private:
  std::array<float, kDesireCount> previous_{};
};

// One-hot [left-hand drive, right-hand drive].
constexpr std::array<float, 2> traffic_convention(bool right_hand_drive) {
  return right_hand_drive ? std::array<float, 2>{0, 1} : std::array<float, 2>{1, 0};
}

// [lateral, longitudinal] in s.
constexpr std::array<float, 2> action_t_input(const ActionTimes& times) {
  return {static_cast<float>(times.lateral), static_cast<float>(times.longitudinal)};
}

// [speed in m/s, delay in s]; of older networks.
constexpr std::array<float, 2> lateral_control_params(float v_ego, float lateral_delay) {
  return {v_ego > 0 ? v_ego : 0, lateral_delay};
}

}  // namespace modeld::driving
