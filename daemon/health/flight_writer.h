// Writes flight records to files, on a thread of its own: the frame loop only hands them over.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "daemon/health/flight_recorder.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

struct FlightWriterOptions {
  std::filesystem::path folder;             // exists
  std::string process;                      // "modeld"; part of the file's name
  Nanoseconds shortest_gap = 30 * kSecond;  // between two files
  size_t kept = 8;                          // files of this process; older ones are removed
};

// One owner. Files are `<folder>/flight-<process>-<n>.json`, n being CLOCK_BOOTTIME in ms.
class FlightWriter {
 public:
  static Result<std::unique_ptr<FlightWriter>> start(const Clock& clock,
                                                     FlightWriterOptions options);
  ~FlightWriter();
  FlightWriter(const FlightWriter&) = delete;
  FlightWriter& operator=(const FlightWriter&) = delete;

  // To be called after every frame. If a deadline was missed since the last file, the gap has
  // passed and the thread is free, copies the recorder (some 40 KiB) and wakes the thread. Neither
  // waits nor allocates.
  void offer(const FlightRecorder& recorder);

  // Files written, and attempts that failed (a full disk is no reason to stop driving).
  uint64_t written() const { return written_.load(); }
  uint64_t failed() const { return failed_.load(); }

 private:
  enum class Turn : uint32_t { kOwner, kThread, kEnd };

  FlightWriter(const Clock& clock, FlightWriterOptions options);
  void run();
  Status write();
  void remove_old() const;

  const Clock& clock_;
  const FlightWriterOptions options_;
  FlightRecorder copy_;  // belongs to whose turn it is
  uint64_t seen_misses_ = 0;
  Nanoseconds last_ = 0;
  std::atomic<Turn> turn_{Turn::kOwner};
  std::atomic<bool> ending_{false};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> failed_{0};
  std::thread thread_;
};

// Where a daemon may keep things: `configured`, else $STATE_DIRECTORY of the service manager, else
// /var/lib/modeld/state. Nothing if that is no folder this process may write to.
std::optional<std::filesystem::path> state_folder(const std::filesystem::path& configured);

}  // namespace modeld
