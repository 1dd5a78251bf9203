#include "daemon/driving/desire_helper.h"

#include "daemon/driving/constants.h"

namespace modeld::driving {
namespace {

constexpr double kKphPerMph = 1.609344;
constexpr double kLeastSpeed = 20.0 * kKphPerMph / 3.6;  // m/s: 20 mph
constexpr double kLongest = 10.0;                        // s in laneChangeStarting
constexpr double kShortest = 0.5;                        // s in laneChangeStarting
constexpr double kDoneBelow = 0.02;                      // lane_change_prob

LaneChangeDirection blinker_side(const DriverInputs& inputs) {
  return inputs.left_blinker ? LaneChangeDirection::kLeft : LaneChangeDirection::kRight;
}

bool driver_pushes(const DriverInputs& inputs, LaneChangeDirection side) {
  if (!inputs.steering_pressed) return false;
  return side == LaneChangeDirection::kLeft ? inputs.steering_torque > 0.0
                                            : inputs.steering_torque < 0.0;
}

bool side_is_free(const DriverInputs& inputs, LaneChangeDirection side) {
  return !(side == LaneChangeDirection::kLeft ? inputs.left_blindspot : inputs.right_blindspot);
}

}  // namespace

void DesireHelper::reset() {
  state_ = LaneChangeState::kOff;
  direction_ = LaneChangeDirection::kNone;
  timer_ = 0.0;
}

void DesireHelper::update(const DriverInputs& inputs, double lane_change_prob) {
  const bool one_blinker = inputs.left_blinker != inputs.right_blinker;
  if (!inputs.lateral_active || timer_ > kLongest) {
    reset();
  } else {
    step(inputs, one_blinker, lane_change_prob);
  }
  previous_one_blinker_ = one_blinker && inputs.lateral_active;
  desire_ = Desire::kNone;
  if (state_ == LaneChangeState::kStarting) {
    desire_ = direction_ == LaneChangeDirection::kLeft ? Desire::kLaneChangeLeft
                                                       : Desire::kLaneChangeRight;
  }
}

void DesireHelper::step(const DriverInputs& inputs, bool one_blinker, double lane_change_prob) {
  switch (state_) {
    case LaneChangeState::kOff:
      if (one_blinker && !previous_one_blinker_ && inputs.v_ego >= kLeastSpeed) {
        state_ = LaneChangeState::kPreLaneChange;
        direction_ = blinker_side(inputs);
        timer_ = 0.0;
      }
      return;
    case LaneChangeState::kPreLaneChange:
      step_pre_lane_change(inputs, one_blinker);
      return;
    case LaneChangeState::kStarting:
      step_starting(inputs, one_blinker, lane_change_prob);
      return;
    case LaneChangeState::kFinishing:  // on the wire, but never entered
      return;
  }
}

void DesireHelper::step_pre_lane_change(const DriverInputs& inputs, bool one_blinker) {
  if (!one_blinker || inputs.v_ego < kLeastSpeed) {
    reset();
    return;
  }
  direction_ = blinker_side(inputs);
  if (driver_pushes(inputs, direction_) && side_is_free(inputs, direction_)) {
    state_ = LaneChangeState::kStarting;
    timer_ = 0.0;
  }
}

void DesireHelper::step_starting(const DriverInputs& inputs, bool one_blinker,
                                 double lane_change_prob) {
  // A sum in double on purpose: ten steps stay just below kShortest.
  timer_ += kModelDt;
  if (!(lane_change_prob < kDoneBelow && timer_ >= kShortest)) return;
  reset();
  if (one_blinker) {
    state_ = LaneChangeState::kPreLaneChange;
    direction_ = blinker_side(inputs);
  }
}

}  // namespace modeld::driving
