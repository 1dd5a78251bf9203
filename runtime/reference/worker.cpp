#include "runtime/reference/worker.h"

#include <chrono>
#include <utility>

namespace modeld::reference {

Worker::Worker(std::function<void()> job) : job_(std::move(job)), thread_([this] { loop(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::start() {
  {
    const std::lock_guard lock(mutex_);
    busy_ = true;
  }
  changed_.notify_all();
}

bool Worker::idle() const {
  const std::lock_guard lock(mutex_);
  return !busy_;
}

bool Worker::wait(Deadline deadline) const {
  // steady_clock is CLOCK_MONOTONIC, the clock of deadlines.
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline.at)};
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, until, [this] { return !busy_; });
}

void Worker::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return busy_ || ending_; });
    if (!busy_) return;
    lock.unlock();
    job_();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace modeld::reference
