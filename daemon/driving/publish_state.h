// What modelV2 says from several frames at once: confidence and hard braking. Source: facts 5.1.
#pragma once

#include <array>
#include <cstdint>

#include "daemon/driving/model_outputs.h"

namespace modeld::driving {

enum class Confidence : uint8_t { kRed, kYellow, kGreen };  // numbers of the wire's enumeration

class PublishState {
 public:
  // Once per frame that is published with its predictions.
  void update(uint32_t frame_id, const ModelOutputs& outputs);

  Confidence confidence() const { return confidence_; }
  bool hard_brake_predicted() const { return hard_brake_predicted_; }

  // Five rows (oldest first) of five per-horizon disengagement probabilities; newest last in the
  // two others.
  const std::array<float, 25>& disengagements() const { return disengagements_; }
  const std::array<float, 5>& hard_brakes_5() const { return hard_brakes_5_; }
  const std::array<float, 2>& hard_brakes_3() const { return hard_brakes_3_; }

 private:
  std::array<float, 25> disengagements_{};
  std::array<float, 5> hard_brakes_5_{};
  std::array<float, 2> hard_brakes_3_{};
  Confidence confidence_ = Confidence::kGreen;
  bool hard_brake_predicted_ = false;
};

}  // namespace modeld::driving
