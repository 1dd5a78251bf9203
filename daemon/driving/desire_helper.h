// The lane-change state machine: which desire the network is told. Source: facts 5.5.
#pragma once

#include <cstdint>

namespace modeld::driving {

// Numbers of the wire's enumerations.
enum class LaneChangeState : uint8_t { kOff, kPreLaneChange, kStarting, kFinishing };
enum class LaneChangeDirection : uint8_t { kNone, kLeft, kRight };
enum class Desire : uint8_t { kNone = 0, kLaneChangeLeft = 3, kLaneChangeRight = 4 };

// From the newest carState and carControl.
struct DriverInputs {
  double v_ego = 0.0;  // m/s
  bool left_blinker = false;
  bool right_blinker = false;
  bool steering_pressed = false;
  double steering_torque = 0.0;  // Nm, left is positive
  bool left_blindspot = false;
  bool right_blindspot = false;
  bool lateral_active = false;
};

class DesireHelper {
 public:
  // Once per frame, after the network ran. `lane_change_prob`: desireState[3] + desireState[4], in
  // double. The desire that follows belongs to the next frame.
  void update(const DriverInputs& inputs, double lane_change_prob);

  LaneChangeState state() const { return state_; }
  LaneChangeDirection direction() const { return direction_; }
  Desire desire() const { return desire_; }
  double timer() const { return timer_; }  // s in laneChangeStarting
  bool previous_one_blinker() const { return previous_one_blinker_; }

 private:
  void reset();
  void step(const DriverInputs& inputs, bool one_blinker, double lane_change_prob);
  void step_pre_lane_change(const DriverInputs& inputs, bool one_blinker);
  void step_starting(const DriverInputs& inputs, bool one_blinker, double lane_change_prob);

  LaneChangeState state_ = LaneChangeState::kOff;
  LaneChangeDirection direction_ = LaneChangeDirection::kNone;
  Desire desire_ = Desire::kNone;
  double timer_ = 0.0;
  bool previous_one_blinker_ = false;
};

}  // namespace modeld::driving
