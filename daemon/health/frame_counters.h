// What became of every frame. Nothing ends without being counted here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/health/health_state.h"

namespace modeld {

// Why an accepted frame ended without a message.
enum class DropReason : uint8_t {
  kOverrun,       // the camera overwrote it, or may have, while it was in use
  kUnreadable,    // the file behind the buffer was cut short
  kUnpaired,      // its partner of the other road camera never came
  kNotPublished,  // the transport refused the message
  kShutdown,      // in hand when the daemon was told to stop
};
constexpr size_t kDropReasonCount = 5;
std::string_view to_string(DropReason reason);  // as published: "overrun", "unpaired", ...
HealthReason health_reason(DropReason reason);

// Why a frame was answered with an invalid message.
enum class InvalidReason : uint8_t {
  kNone,           // it was not: the message is valid
  kNotCalibrated,  // no calibration, or no camera state to look intrinsics up with, so far
  kUnknownCamera,  // device type and sensor are not in the camera table
  kFrameSize,      // not the camera's picture size, or not one the artifact was made for
  kTransform,      // the calibration gives a matrix that must not reach a kernel
  kInputVector,    // another input is not finite or out of range
  kOutputNotFinite,
  kOutputOutOfRange,
  kOutputConstant,  // a slice that varies by contract is constant or all zero
  kIndexOutOfRange,
  kDivisionByZero,
  kStateNotFinite,  // of what the network would remember
  kDeadline,        // the device did not finish in time
  kDeviceError,
  kDeviceLost,
  kInputStale,  // messages the model depends on have stopped coming
};
constexpr size_t kInvalidReasonCount = 16;
std::string_view to_string(InvalidReason reason);  // as published: "notCalibrated", ...
HealthReason health_reason(InvalidReason reason);

// Plain counters. Not thread-safe.
struct FrameCounters {
  uint64_t received = 0;   // accepted (a pair counts once)
  uint64_t published = 0;  // answered, valid or not
  uint64_t valid = 0;
  uint64_t missed = 0;  // frame ids the camera used and we never saw, after the first accepted one
  uint64_t pairs_far_apart = 0;    // answered although the two pictures start more than 10 ms apart
  uint64_t extra_passed_over = 0;  // frames of the wide camera no frame of the narrow one wanted
  std::array<uint64_t, kDropReasonCount> drops{};
  std::array<uint64_t, kInvalidReasonCount> invalids{};

  void drop(DropReason reason) { ++drops[static_cast<size_t>(reason)]; }
  void answer(InvalidReason reason) {
    ++published;
    if (reason == InvalidReason::kNone) {
      ++valid;
    } else {
      ++invalids[static_cast<size_t>(reason)];
    }
  }
  uint64_t dropped(DropReason reason) const { return drops[static_cast<size_t>(reason)]; }
  uint64_t invalid(InvalidReason reason) const { return invalids[static_cast<size_t>(reason)]; }
  uint64_t dropped_total() const;
};

}  // namespace modeld
