// A device in an executor that hangs, dies or lies when the test says so, from another process.
#pragma once

#include <atomic>
#include <memory>

#include "daemon/supervise/executor.h"
#include "runtime/device/device.h"

namespace modeld::test {

// Where a call does not return. Shared between the test and its executors.
struct Switches {
  enum Where : uint32_t { kNowhere, kOpen, kRecord, kReplay, kTearDown, kCommit };
  // By ExecutorKind.
  std::atomic<uint32_t> hangs[2] = {};
  std::atomic<uint32_t> exits[2] = {};  // the process ends there instead, with exit code 77
  std::atomic<uint32_t> loses_device[2] = {};
  std::atomic<uint32_t> spoils[2] = {};  // replays whose first output value is not a number
  std::atomic<uint32_t> replays[2] = {};
};

// In memory that forked processes keep sharing.
class SharedSwitches {
 public:
  SharedSwitches();
  ~SharedSwitches();
  SharedSwitches(const SharedSwitches&) = delete;
  SharedSwitches& operator=(const SharedSwitches&) = delete;
  Switches* operator->() const { return switches_; }
  Switches& operator*() const { return *switches_; }

 private:
  Switches* switches_;
};

// The tiny model on the reference interpreter with those switches.
Result<supervise::ExecutorWork> open_hanging_work(Switches& switches, supervise::ExecutorKind kind);

}  // namespace modeld::test
