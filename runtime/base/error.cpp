#include "runtime/base/error.h"

#include <cerrno>
#include <system_error>

namespace modeld {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIo:
      return "i/o";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kDevice:
      return "device";
    case ErrorCode::kDeviceLost:
      return "device lost";
    case ErrorCode::kDeadline:
      return "deadline";
    case ErrorCode::kExhausted:
      return "exhausted";
    case ErrorCode::kCheckFailed:
      return "check failed";
    case ErrorCode::kInterrupted:
      return "interrupted";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string line;
  if (!error.context.empty()) line += error.context + ": ";
  line += error.message;
  if (!error.expected.empty() || !error.found.empty()) {
    line += " (expected " + error.expected + ", found " + error.found + ")";
  }
  line += " [";
  line += to_string(error.code);
  line += "]";
  return line;
}

Error errno_error(std::string_view what, int errno_value) {
  ErrorCode code = ErrorCode::kIo;
  if (errno_value == ENOENT) code = ErrorCode::kNotFound;
  if (errno_value == EACCES || errno_value == EPERM) code = ErrorCode::kPermission;
  return {code, std::string(what) + ": " + std::generic_category().message(errno_value)};
}

}  // namespace modeld
