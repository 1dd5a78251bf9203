// Temperatures and clocks of the machine, read on a thread of their own: a driver that blocks such
// a read for seconds (field fault 15) must not cost a frame anything.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

struct SensorSource {
  std::string name;                      // "thermal cpu-thermal", "devfreq 3d00000.gpu"
  std::string unit;                      // "C", "MHz"
  std::function<Result<double>()> read;  // may block for ever
};

// What `root` (/sys) offers: thermal zones, hwmon temperatures, devfreq clocks (a GPU's among
// them), in the order of their names, at most kMostSensors.
constexpr size_t kMostSensors = 16;
std::vector<SensorSource> find_sensors(const std::filesystem::path& root);

struct SensorReading {
  double value = 0;    // of the last read that succeeded
  bool known = false;  // there was one
  bool stale = true;   // and it is older than kStaleAfter
};

// One owner, which asks at any time and never waits.
class SensorReader {
 public:
  static constexpr Nanoseconds kPeriod = kSecond;
  static constexpr Nanoseconds kStaleAfter = 3 * kSecond;

  static Result<std::unique_ptr<SensorReader>> start(const Clock& clock,
                                                     std::vector<SensorSource> sources,
                                                     Nanoseconds period = kPeriod);
  // A read that blocks is left behind with its thread.
  ~SensorReader();
  SensorReader(const SensorReader&) = delete;
  SensorReader& operator=(const SensorReader&) = delete;

  size_t size() const;
  const SensorSource& source(size_t index) const;
  SensorReading reading(size_t index) const;

 private:
  struct Shared;
  explicit SensorReader(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace modeld
