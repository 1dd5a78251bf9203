#include "daemon/health/frame_counters.h"

#include <numeric>

namespace modeld {

std::string_view to_string(DropReason reason) {
  constexpr std::array<std::string_view, kDropReasonCount> kNames = {
      "overrun", "unreadable", "unpaired", "notPublished", "shutdown"};
  return kNames[static_cast<size_t>(reason)];
}

HealthReason health_reason(DropReason reason) {
  switch (reason) {
    case DropReason::kOverrun:
    case DropReason::kUnreadable:
      return HealthReason::kOverrun;
    case DropReason::kUnpaired:
      return HealthReason::kUnpaired;
    case DropReason::kNotPublished:
      return HealthReason::kInternal;
    case DropReason::kShutdown:
      return HealthReason::kShuttingDown;
  }
  return HealthReason::kInternal;
}

std::string_view to_string(InvalidReason reason) {
  constexpr std::array<std::string_view, kInvalidReasonCount> kNames = {
      "none",           "notCalibrated",   "unknownCamera",    "frameSize",      "transform",
      "inputVector",    "outputNotFinite", "outputOutOfRange", "outputConstant", "indexOutOfRange",
      "divisionByZero", "stateNotFinite",  "deadline",         "deviceError",    "deviceLost",
      "inputStale"};
  return kNames[static_cast<size_t>(reason)];
}

HealthReason health_reason(InvalidReason reason) {
  switch (reason) {
    case InvalidReason::kNone:
      return HealthReason::kNone;
    case InvalidReason::kNotCalibrated:
      return HealthReason::kNotCalibrated;
    case InvalidReason::kUnknownCamera:
    case InvalidReason::kFrameSize:
    case InvalidReason::kTransform:
    case InvalidReason::kInputVector:
    case InvalidReason::kInputStale:
      return HealthReason::kInputInvalid;
    case InvalidReason::kOutputNotFinite:
    case InvalidReason::kOutputOutOfRange:
    case InvalidReason::kOutputConstant:
    case InvalidReason::kIndexOutOfRange:
    case InvalidReason::kDivisionByZero:
    case InvalidReason::kStateNotFinite:
      return HealthReason::kOutputInvalid;
    case InvalidReason::kDeadline:
      return HealthReason::kDeadlineMissed;
    case InvalidReason::kDeviceError:
      return HealthReason::kDeviceError;
    case InvalidReason::kDeviceLost:
      return HealthReason::kDeviceLost;
  }
  return HealthReason::kInternal;
}

uint64_t FrameCounters::dropped_total() const {
  return std::accumulate(drops.begin(), drops.end(), uint64_t{0});
}

}  // namespace modeld
