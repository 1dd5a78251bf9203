// A device that does what a test tells it to: the double for all fault tests.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/device/device.h"

namespace modeld::test {

// A piece of an output to spoil: elements [first, first + count) become NaN (floats) or all bits
// set (others).
struct Corruption {
  std::string output;
  uint64_t first = 0;
  uint64_t count = 1;
};

// What the replays that follow do. Default: compute with the reference interpreter and complete at
// once.
struct Behaviour {
  // Bytes by output name. If given, nothing is computed: outputs that are not named are zero, and
  // every next state equals its current one.
  std::optional<std::map<std::string, std::vector<std::byte>>> answers;
  Nanoseconds delay = 0;  // from replay() to completion, on the script's clock
  bool blocks = false;    // never completes
  // Fails (kDevice) naming this op, counted from 0. Shadow state and outputs are then garbage.
  std::optional<size_t> fails_at_step;
  bool loses_device = false;  // kDeviceLost, now and ever after
  std::optional<Corruption> corruption;
};

// Shared by a test and its scripted device. Thread-safe.
class Script {
 public:
  // A wait of a delayed or blocking replay ends when `clock` passes its deadline or the script
  // changes. With a ManualClock somebody else advances it.
  explicit Script(const Clock& clock = Clock::real()) : clock_(clock) {}

  void set(Behaviour behaviour);
  Behaviour behaviour() const;
  // Replays started and commits made, of all captures.
  uint64_t replays() const;
  uint64_t commits() const;
  // How many record() calls fail with kDevice before one succeeds.
  void fail_records(uint32_t count);
  // Buffers whose writes reach the other side only by flush and invalidate.
  void set_non_coherent(bool non_coherent);
  bool non_coherent() const;

  // For the device.
  const Clock& clock() const { return clock_; }
  bool lost() const;
  Status take_record();
  Behaviour start_replay();
  void count_commit();
  // Sleeps a moment, or until the script changes.
  void pause() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Behaviour behaviour_;
  uint64_t replays_ = 0;
  uint64_t commits_ = 0;
  uint32_t failing_records_ = 0;
  bool lost_ = false;
  bool non_coherent_ = false;
};

// Answers as backend "scripted", of the given class.
std::unique_ptr<Device> open_scripted_device(std::shared_ptr<Script> script,
                                             DeviceClass device_class = DeviceClass::kCpu);

}  // namespace modeld::test
