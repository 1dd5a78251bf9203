// The one error type that crosses the border of a room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace modeld {

// What kind of thing went wrong. The command line maps these to exit codes
// (exit_codes.h), so a new code is a decision about users, not only about callers.
enum class ErrorCode : uint8_t {
  kInvalidArgument,  // a caller, a configuration or a command line asked for something impossible
  kNotFound,         // a named thing does not exist
  kUnsupported,      // well formed, but not something this build can do
  kRefused,          // an artifact, key or peer was checked and turned away
  kCorrupt,          // bytes do not say what their format promises
  kIo,               // the operating system refused a file or socket operation
  kPermission,       // not allowed, by the system or by our own rules
  kDevice,           // a compute device answered with an error
  kDeviceLost,       // the device is gone; only a new one can help
  kDeadline,         // a wait ended without the thing waited for
  kExhausted,        // a stated capacity is full
  kCheckFailed,      // a check ran and its answer is no (self-test, conformance, comparison)
  kInterrupted,      // a signal asked us to stop
  kInternal,         // our own bug, caught before it did harm
};

std::string_view to_string(ErrorCode code);

// An error names what was expected and what was found whenever the two can be told apart.
// `context` grows on the way up ("loading a.model: manifest: tensor 3").
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string expected;
  std::string found;
  std::string context;

  Error() = default;
  Error(ErrorCode c, std::string m) : code(c), message(std::move(m)) {}

  Error&& expecting(std::string want, std::string have) && {
    expected = std::move(want);
    found = std::move(have);
    return std::move(*this);
  }
  // Puts `where` in front of the context already there.
  Error&& in(std::string_view where) && {
    context = context.empty() ? std::string(where) : std::string(where) + ": " + context;
    return std::move(*this);
  }
};

// One line: "context: message (expected X, found Y) [code]".
std::string to_string(const Error& error);

// The error of a failed system call: `what` with the text of `errno_value`.
Error errno_error(std::string_view what, int errno_value);

}  // namespace modeld
