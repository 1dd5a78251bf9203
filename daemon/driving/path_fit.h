// The plan's path as polynomials in time. Source: facts 5.2.
#pragma once

#include <array>

#include "daemon/driving/model_outputs.h"

namespace modeld::driving {

constexpr size_t kPathCoefficients = 5;  // degree 4, lowest power first

// Least squares in double over the plan's time grid of one position column (0 x, 1 y, 2 z).
std::array<double, kPathCoefficients> fit_path(const ModelOutputs& outputs, size_t column);

}  // namespace modeld::driving
