#include "runtime/opencl/flight.h"

#include <chrono>
#include <vector>

namespace modeld::opencl {

Flight::Flight(uint64_t upload_bytes, uint64_t download_bytes)
    : upload_(upload_bytes),
      downloads_{AlignedBytes(download_bytes), AlignedBytes(download_bytes)} {}

Flight* Flight::make(uint64_t upload_bytes, uint64_t download_bytes) {
  return new Flight(upload_bytes, download_bytes);
}

void Flight::begin() {
  const std::lock_guard lock(mutex_);
  done_ = false;
  ++references_;
}

void CL_CALLBACK Flight::completed(cl_event, cl_int status, void* flight) {
  auto* const self = static_cast<Flight*>(flight);
  {
    const std::lock_guard lock(self->mutex_);
    self->done_ = true;
    self->status_ = status;
    self->changed_.notify_all();
  }
  self->release();
}

void Flight::end_without_callback(bool commands_may_run) {
  if (commands_may_run) {
    // Reachable for ever, so that it is no leak by accident; hence the list outlives the statics.
    static std::mutex mutex;
    static auto& parked = *new std::vector<Flight*>;
    const std::lock_guard lock(mutex);
    parked.push_back(this);
    const std::lock_guard own(mutex_);
    done_ = true;
    return;
  }
  completed(nullptr, CL_COMPLETE, this);
}

bool Flight::wait(Deadline deadline, cl_int& status) {
  // steady_clock is CLOCK_MONOTONIC, the clock of deadlines.
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline.at)};
  std::unique_lock lock(mutex_);
  const bool done = changed_.wait_until(lock, until, [this] { return done_; });
  status = status_;
  return done;
}

void Flight::release() {
  int left = 0;
  {
    const std::lock_guard lock(mutex_);
    left = --references_;
  }
  if (left == 0) delete this;
}

}  // namespace modeld::opencl
