#include "daemon/health/readiness.h"

#include <array>
#include <cstddef>

namespace modeld {

std::string_view to_string(Check check) {
  constexpr std::array<std::string_view, 4> kNames = {"unknown", "passed", "failed",
                                                      "notApplicable"};
  return kNames[static_cast<size_t>(check)];
}

bool Readiness::complete() const {
  const auto good = [](Check check) {
    return check == Check::kPassed || check == Check::kNotApplicable;
  };
  return good(device_found) && good(firmware_verified) && good(memory_ready) && good(queue_ready) &&
         good(task_completed) && good(output_valid);
}

}  // namespace modeld
