// The messages of a route that a replay needs, from the logs of all its segments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ipc/schema/event_log.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/replay/camera_kind.h"
#include "tools/replay/log_file.h"
#include "tools/replay/route_files.h"

namespace modeld::replay {

// A message the daemons listen to. `service` is the topic it came on (newest name).
struct LoggedMessage {
  Nanoseconds time = 0;  // logMonoTime
  std::string_view service;
  uint64_t offset = 0;  // in RouteLog's bytes
  uint64_t size = 0;
};

// No time in a log is taken for later than this (73 years): sums and differences of such times stay
// numbers.
constexpr Nanoseconds kLatestTime = std::numeric_limits<Nanoseconds>::max() / 4;
constexpr uint64_t bounded_time(uint64_t time) {
  return std::min(time, static_cast<uint64_t>(kLatestTime));
}

// What a camera state says about its frame; `message` is its place in RouteLog::messages().
struct CameraStateEntry {
  uint32_t frame_id = 0;
  uint64_t timestamp_sof = 0;
  uint64_t timestamp_eof = 0;
  size_t segment = 0;  // position in RouteFiles::segments
  size_t message = 0;
};

// Where the picture of a frame lies (interoperability facts 8.3).
struct EncodeEntry {
  uint32_t frame_id = 0;
  int32_t segment_number = 0;
  uint32_t picture = 0;  // number within that segment's video
  uint64_t timestamp_sof = 0;
  uint64_t timestamp_eof = 0;
  size_t segment = 0;  // whose log it was in
};

// What was read and what was not. Nothing is passed over without being counted.
struct LogStatistics {
  uint64_t files = 0;
  uint64_t messages = 0;   // whole ones, of any kind
  uint64_t delivered = 0;  // kept: kinds the daemons listen to
  uint64_t broken = 0;     // do not decode
  uint64_t unknown = 0;    // of a kind newer than ours
  uint64_t cut_short = 0;  // files whose packed stream breaks off
  ipc::LogLosses losses;
  std::map<std::string, Packing> packings;  // by segment
};

constexpr uint64_t kMaxKeptBytes = uint64_t{4} << 30;

// Loaded whole: what the daemons listen to is a small part of a log. Immutable after loading.
class RouteLog {
 public:
  // Segments without a log are none. kExhausted above kMaxKeptBytes of kept messages.
  static Result<RouteLog> load(const RouteFiles& files);

  std::span<const LoggedMessage> messages() const { return messages_; }
  std::span<const std::byte> bytes(const LoggedMessage& message) const {
    return std::span(bytes_).subspan(message.offset, message.size);
  }
  std::span<const CameraStateEntry> states(Camera camera) const {
    return states_[index_of(camera)];
  }
  std::span<const EncodeEntry> index(Camera camera) const { return index_[index_of(camera)]; }
  // Of the narrow camera's low-resolution copy.
  std::span<const EncodeEntry> preview_index() const { return preview_index_; }

  // initData.deviceType as on the wire; 0 (unknown) without one.
  uint16_t device_type() const { return device_type_; }
  // From the first carParams of the route.
  std::optional<float> actuator_delay() const { return actuator_delay_; }
  const LogStatistics& statistics() const { return statistics_; }

 private:
  friend class LogScan;
  std::vector<std::byte> bytes_;
  std::vector<LoggedMessage> messages_;
  PerCamera<std::vector<CameraStateEntry>> states_;
  PerCamera<std::vector<EncodeEntry>> index_;
  std::vector<EncodeEntry> preview_index_;
  uint16_t device_type_ = 0;
  std::optional<float> actuator_delay_;
  LogStatistics statistics_;
};

}  // namespace modeld::replay
