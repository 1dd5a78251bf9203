// A device in another process. To the daemon it is a Device like any other, except that nothing it
// hangs in can hang the daemon.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/supervise/spawner.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/device/device.h"

namespace modeld::supervise {

struct ExecutorDeadlines {
  Nanoseconds load = 60 * kSecond;          // without progress
  Nanoseconds answer = 150 * kMillisecond;  // of anything asked between frames
  Nanoseconds tear_down = 2 * kSecond;
};

// Opens an executor's device. An executor that hangs in anything but a replay is killed at its
// deadline; every call then answers kDeadline once and kDeviceLost from then on. One that ends by
// itself is kDeviceLost with the way it ended.
//
// A replay that is late is the caller's to give up: abandon().
//
// With `mirror_states` a capture's states are copied into shared memory after every commit, so that
// read_state() answers also when the executor is gone: from then on with the states as of the last
// commit (or, if the executor ended while copying, the one before).
class ExecutorDevice final : public Device {
 public:
  struct Options {
    ExecutorKind kind = ExecutorKind::kPrimary;
    ExecutorDeadlines deadlines;
    bool mirror_states = false;
    std::string digest;  // kRefused unless the executor's artifact has it
    // Called when loading begins and whenever it was seen to go on, at most once a second. May be
    // empty.
    std::function<void()> on_progress;
  };

  // Spawns the executor and waits until artifact and device are open. `spawner` outlives it.
  static Result<std::unique_ptr<ExecutorDevice>> open(Spawner& spawner, const Options& options);
  ~ExecutorDevice() override;

  const DeviceCapabilities& capabilities() const override { return capabilities_; }
  // kUnsupported: buffers are made where the device is.
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override;
  // kUnsupported: pages of this process mean nothing there.
  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override;
  Result<std::unique_ptr<Buffer>> import_shared(int fd, std::span<std::byte> pages) override;
  // Weights are read where the device is; `weights` is not touched.
  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override;
  bool abandon() override;

  Status seal() override;

  pid_t pid() const;

  // Reads the processor time the executor has taken, ns, as of its last answer; 0 once the device
  // is gone, which it does not keep.
  std::function<Nanoseconds()> processor_time() const;

  class Link;  // the line to the executor; shared with captures and buffers

 private:
  ExecutorDevice(std::shared_ptr<Link> link, DeviceCapabilities capabilities, Options options);

  std::shared_ptr<Link> link_;
  const DeviceCapabilities capabilities_;
  const Options options_;
};

}  // namespace modeld::supervise
