// What the road model wants the vehicle to do. Advice on the wire only: nothing here acts.
// Source: facts 5.4.
#pragma once

#include <span>

#include "daemon/driving/model_outputs.h"

namespace modeld::driving {

// float32 like the message: the action before is read back from it.
struct Action {
  float desired_curvature = 0.0f;     // 1/m
  float desired_acceleration = 0.0f;  // m/s^2
  bool should_stop = false;
};

// When, in seconds from the frame, the vehicle will act on what is said now.
struct ActionTimes {
  double lateral = 0.0;
  double longitudinal = 0.0;
};

// From lateralDelay.lateralDelay and CarParams.longitudinalActuatorDelay (s).
ActionTimes action_times(double lateral_delay, double longitudinal_actuator_delay);

// One value per point of the plan's time grid, `stride` floats apart.
struct PlanColumn {
  const float* values = nullptr;
  size_t stride = 1;
  double operator[](size_t point) const { return static_cast<double>(values[point * stride]); }
};

// m/s^2 that leads to the plan's speed at time `action_t`.
double acceleration_from_plan(PlanColumn speed, PlanColumn acceleration, double action_t);

// 1/m that leads to the plan's yaw at time `action_t`.
double curvature_from_plan(PlanColumn yaw, PlanColumn yaw_rate, double v_ego, double action_t);

// First-order step from `previous` towards `value` in one frame; time constant `tau` in seconds, 0
// means at once.
double smooth_value(double value, double previous, double tau);

bool is_finite(const Action& action);

// v_ego in m/s, not negative. With an action head the head decides, otherwise the plan. Numbers
// that are not finite (a peer's delay, the network's answer) give an action that is not: the caller
// must not publish it as valid, nor pass it on as `previous`, where smoothing would keep it for
// ever.
Action next_action(const ModelOutputs& outputs, const Action& previous, const ActionTimes& times,
                   double v_ego);

}  // namespace modeld::driving
