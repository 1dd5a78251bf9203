// How near two runs of one case must come.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/differential/fuzz_case.h"

namespace modeld::test {

// |have - want| <= relative |want| + bound of the element; NaN equals NaN.
struct Closeness {
  bool exact = false;           // the same number
  bool same_zero_sign = false;  // and -0.0 is not 0.0
  double relative = 0;
  double absolute = 0;
  // Of each element of the first output, for sums: the sum of the magnitudes of its terms, in
  // double; `per_magnitude` of it is allowed. Empty elsewhere.
  std::vector<double> magnitudes;
  double per_magnitude = 0;
};

// `slack` multiplies every bound that is not exact: 1 between our backends, which compute in
// float32 or wider; more for other runtimes.
Closeness closeness_of(const FuzzCase& made, DType output, double slack);

// Empty, or where `have` is not near enough to `want`.
std::string difference(const Closeness& closeness, const TensorType& type,
                       std::span<const std::byte> want, std::span<const std::byte> have);

}  // namespace modeld::test
