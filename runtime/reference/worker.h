// One thread that does the same job each time it is asked.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/base/clock.h"

namespace modeld::reference {

// start(), wait() and idle() may be called from any thread; the job runs on the worker's own.
class Worker {
 public:
  // Throws std::system_error if the system gives no thread.
  explicit Worker(std::function<void()> job);
  // Waits for a job in flight: the owner makes the job return soon first.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs the job once. The worker must be idle.
  void start();
  bool idle() const;
  // True once idle, false when the monotonic clock passes `deadline` first.
  bool wait(Deadline deadline) const;

 private:
  void loop();

  const std::function<void()> job_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace modeld::reference
