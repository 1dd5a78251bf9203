#include "daemon/driving/model_inputs.h"

namespace modeld::driving {

std::array<float, kDesireCount> DesirePulse::update(Desire desire) {
  std::array<float, kDesireCount> now{};
  // `none` is no desire: its entry stays 0.
  if (desire != Desire::kNone) now[static_cast<size_t>(desire)] = 1.0f;
  std::array<float, kDesireCount> pulse{};
  for (size_t i = 0; i < kDesireCount; ++i)
    pulse[i] = now[i] - previous_[i] > 0.99f ? now[i] : 0.0f;
  previous_ = now;
  return pulse;
}

}  // namespace modeld::driving
