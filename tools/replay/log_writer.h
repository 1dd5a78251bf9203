// A log as openpilot's logger writes them: initData, a sentinel, messages, a sentinel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ipc/schema/message_writer.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld::replay {

// As initData says them; no clock of this machine, no path, so that the same replay gives the same
// bytes.
struct LogOrigin {
  std::string version;
  uint16_t device_type = 0;  // wire::InitData::DeviceType
  uint64_t wall_time_ns = 0;
};

// Where the bytes of a log go, in order.
using LogSink = std::function<Status(std::span<const std::byte>)>;

// At most kMaxLogBytes, which is what can be read again. Not thread-safe.
class LogWriter {
 public:
  // Collects in memory: bytes().
  LogWriter();
  // Keeps nothing.
  explicit LogWriter(LogSink sink);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // initData and the first sentinel; `first_of_route` chooses startOfRoute or startOfSegment.
  Status begin(const LogOrigin& origin, Nanoseconds time, bool first_of_route);
  // A framed message. kExhausted when the log becomes too long.
  Status add(std::span<const std::byte> message);
  // The last sentinel: endOfRoute or endOfSegment.
  Status end(Nanoseconds time, bool last_of_route);

  // Since begin(); empty with a sink.
  std::span<const std::byte> bytes() const { return log_; }

 private:
  ipc::MessageWriter writer_;
  LogSink sink_;
  uint64_t written_ = 0;
  std::vector<std::byte> log_;
};

// Replaces `path` atomically; packed as its name ends.
Status write_log(const std::filesystem::path& path, std::span<const std::byte> log);

}  // namespace modeld::replay
