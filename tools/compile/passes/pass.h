// What a pass is. Passes keep no global state: two compiles may run at once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "tools/compile/links.h"

namespace modeld::compile {

// One line per change, naming the ops. A pass leaves the draft valid, computes the same outputs
// (up to rounding) and keeps names and types of inputs, outputs and states.
using Changes = std::vector<std::string>;

struct Pass {
  std::string_view name;
  Result<Changes> (*run)(Draft& draft);
};

// In the order in which they build on each other.
std::span<const Pass> default_passes();

// Those that come after the precision policy.
std::span<const Pass> last_passes();

}  // namespace modeld::compile
