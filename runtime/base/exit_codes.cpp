#include "runtime/base/exit_codes.h"

namespace modeld {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kIo:
    case ErrorCode::kPermission:
      return kExitUsage;
    case ErrorCode::kRefused:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return kExitRefused;
    case ErrorCode::kDevice:
    case ErrorCode::kDeviceLost:
    case ErrorCode::kExhausted:
      return kExitDevice;
    case ErrorCode::kDeadline:
      return kExitDeadline;
    case ErrorCode::kInterrupted:
      return kExitInterrupted;
    case ErrorCode::kCheckFailed:
    case ErrorCode::kInternal:
      return kExitCheckFailed;
  }
  return kExitCheckFailed;
}

}  // namespace modeld
