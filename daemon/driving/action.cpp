#include "daemon/driving/action.h"

#include <algorithm>
#include <cmath>

namespace modeld::driving {
namespace {

// A plan is not fine enough near its start: times below this are reached on a straight line.
constexpr double kShortestTime = 0.3;  // s
constexpr double kLateralSmoothing = 0.0;
constexpr double kLongitudinalSmoothing = 0.3;  // s
constexpr double kDelayOfUse = 0.025;           // s, half a frame
constexpr double kSlow = 0.3;                   // m/s, below it steering and stopping are special
constexpr double kStopBelow = 0.1;              // m/s^2

// As numpy does it, which matters where a plan holds infinities: a point of the grid is that
// point's value, and where one end of an interval gives no number the other one is tried.
double interpolate(PlanColumn column, double t) {
  if (std::isnan(t)) return t;
  if (t < kTIdxs.front()) return column[0];
  if (t >= kTIdxs.back()) return column[kIdxCount - 1];
  const auto above = std::upper_bound(kTIdxs.begin(), kTIdxs.end(), t);
  const auto i = static_cast<size_t>(above - kTIdxs.begin()) - 1;
  if (t == kTIdxs[i]) return column[i];
  const double slope = (column[i + 1] - column[i]) / (kTIdxs[i + 1] - kTIdxs[i]);
  double value = slope * (t - kTIdxs[i]) + column[i];
  if (std::isnan(value)) value = slope * (t - kTIdxs[i + 1]) + column[i + 1];
  if (std::isnan(value) && column[i] == column[i + 1]) value = column[i];
  return value;
}

PlanColumn column_of(const ModelOutputs& outputs, size_t column) {
  return {outputs.plan.mean.data() + column, kPlanWidth};
}

double wanted_acceleration(const ModelOutputs& outputs, double action_t) {
  if (outputs.has_action) return static_cast<double>(outputs.action[1]);
  return acceleration_from_plan(column_of(outputs, kPlanVelocity),
                                column_of(outputs, kPlanAcceleration), action_t);
}

double wanted_curvature(const ModelOutputs& outputs, double v_ego, double action_t) {
  if (outputs.has_action) {
    const double speed = std::max(1.0, v_ego);
    return static_cast<double>(outputs.action[0] / static_cast<float>(speed * speed));
  }
  return curvature_from_plan(column_of(outputs, kPlanEuler + 2),
                             column_of(outputs, kPlanOrientationRate + 2), v_ego, action_t);
}

}  // namespace

ActionTimes action_times(double lateral_delay, double longitudinal_actuator_delay) {
  return {lateral_delay + kLateralSmoothing + kModelDt + kDelayOfUse,
          longitudinal_actuator_delay + kLongitudinalSmoothing + kModelDt + kDelayOfUse};
}

double acceleration_from_plan(PlanColumn speed, PlanColumn acceleration, double action_t) {
  const double now = speed[0];
  const double then = action_t < kShortestTime ? now + (action_t / kShortestTime) *
                                                           (interpolate(speed, kShortestTime) - now)
                                               : interpolate(speed, action_t);
  return 2.0 * (then - now) / action_t - acceleration[0];
}

double curvature_from_plan(PlanColumn yaw, PlanColumn yaw_rate, double v_ego, double action_t) {
  const double then = action_t < kShortestTime
                          ? (action_t / kShortestTime) * interpolate(yaw, kShortestTime)
                          : interpolate(yaw, action_t);
  const double speed = std::max(v_ego, 1.0);
  return 2.0 * then / (speed * action_t) - yaw_rate[0] / speed;
}

double smooth_value(double value, double previous, double tau) {
  const double alpha = tau > 0.0 ? 1.0 - std::exp(-kModelDt / tau) : 1.0;
  return alpha * value + (1.0 - alpha) * previous;
}

bool is_finite(const Action& action) {
  return std::isfinite(action.desired_curvature) && std::isfinite(action.desired_acceleration);
}

Action next_action(const ModelOutputs& outputs, const Action& previous, const ActionTimes& times,
                   double v_ego) {
  const double acceleration = wanted_acceleration(outputs, times.longitudinal);
  Action action;
  action.should_stop = v_ego < kSlow && acceleration < kStopBelow;
  action.desired_acceleration = static_cast<float>(
      smooth_value(acceleration, previous.desired_acceleration, kLongitudinalSmoothing));
  action.desired_curvature = previous.desired_curvature;
  if (v_ego > kSlow) {
    action.desired_curvature =
        static_cast<float>(smooth_value(wanted_curvature(outputs, v_ego, times.lateral),
                                        previous.desired_curvature, kLateralSmoothing));
  }
  return action;
}

}  // namespace modeld::driving
