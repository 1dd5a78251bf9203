// The car's parameters, as the rest of the system leaves them in its parameter store.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"

namespace modeld {

struct CarParamsValues {
  std::string brand;                      // for the log
  float longitudinal_actuator_delay = 0;  // s
};

// Reads `folder`/CarParams, a framed CarParams message of at most kMaxCarParamsBytes. Nothing if
// the file does not exist yet; kCorrupt if it does not decode or its delay is not a time between 0
// and kMaxActuatorDelay.
constexpr uint64_t kMaxCarParamsBytes = uint64_t{1} << 20;
constexpr float kMaxActuatorDelay = 10.0f;
Result<std::optional<CarParamsValues>> read_car_params(const std::filesystem::path& folder);

}  // namespace modeld
