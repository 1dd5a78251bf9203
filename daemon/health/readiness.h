// Loaded is not working, working is not right: separate states, each measured.
#pragma once

#include <cstdint>
#include <string_view>

namespace modeld {

// Unknown never reads as passed. Values are those of the wire.
enum class Check : uint8_t { kUnknown, kPassed, kFailed, kNotApplicable };
std::string_view to_string(Check check);  // "unknown", "passed", "failed", "notApplicable"

struct Readiness {
  Check device_found = Check::kUnknown;
  Check firmware_verified = Check::kUnknown;
  Check memory_ready = Check::kUnknown;
  Check queue_ready = Check::kUnknown;
  Check task_completed = Check::kUnknown;
  Check output_valid = Check::kUnknown;

  // Every check passed or does not apply.
  bool complete() const;
  bool operator==(const Readiness&) const = default;
};

}  // namespace modeld
