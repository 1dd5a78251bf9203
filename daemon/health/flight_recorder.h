// The last frames, phase by phase, in fixed memory: what is looked at after a deadline was missed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/health/frame_counters.h"
#include "daemon/health/frame_phases.h"
#include "runtime/base/clock.h"

namespace modeld {

struct FlightRecord {
  uint32_t frame_id = 0;
  InvalidReason reason = InvalidReason::kNone;
  bool missed = false;   // took longer than the frame budget
  Nanoseconds done = 0;  // last message sent, CLOCK_MONOTONIC
  FrameTimes times;
};

// Not thread-safe; a plain value that can be copied to another thread. Allocates nothing.
class FlightRecorder {
 public:
  static constexpr size_t kFrames = 256;  // 12.8 s at 20 Hz

  void note(const FlightRecord& record);

  size_t size() const { return count_ < kFrames ? static_cast<size_t>(count_) : kFrames; }
  // 0 is the oldest.
  const FlightRecord& at(size_t index) const;
  uint64_t frames() const { return count_; }  // noted so far
  uint64_t misses() const { return misses_; }

 private:
  std::array<FlightRecord, kFrames> records_;
  uint64_t count_ = 0;
  uint64_t misses_ = 0;
};

// The recorder as a trace in the JSON format that Perfetto and chrome://tracing open: one track
// with the frames, one with their phases drawn one after the other, one with the waits. Times in
// microseconds of CLOCK_MONOTONIC. Every value comes from this process.
std::string to_trace_json(const FlightRecorder& recorder, std::string_view process);

}  // namespace modeld
