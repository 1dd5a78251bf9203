// What one capture shares with the driver while a replay is in flight: the host memory that
// transfers read and write, and the place where completion is reported.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "runtime/base/aligned_bytes.h"
#include "runtime/base/clock.h"
#include "runtime/opencl/cl_calls.h"
#include "runtime/opencl/values.h"

namespace modeld::opencl {

// Counted references: the capture holds one, every replay in flight another, given back by the
// driver's callback. So memory outlives a transfer that ends after its capture was destroyed, and a
// device that never answers keeps (and leaks) nothing but this object.
class Flight {
 public:
  static Flight* make(uint64_t upload_bytes, uint64_t download_bytes);

  bool ok() const { return upload_.ok() && downloads_[0].ok() && downloads_[1].ok(); }
  std::byte* upload() const { return upload_.data(); }
  std::byte* download(unsigned set) const { return downloads_[set].data(); }
  uint32_t* flags() { return flags_; }

  // Before the event is asked to call back; once per replay.
  void begin();
  // For clSetEventCallback: reports the event's status and gives the replay's reference back.
  static void CL_CALLBACK completed(cl_event event, cl_int status, void* flight);
  // In place of a callback that will never come because it could not be asked for. The memory stays
  // for the life of the process if commands may still use it.
  void end_without_callback(bool commands_may_run);

  // True once the replay begun last is complete; `status` is then its event's.
  bool wait(Deadline deadline, cl_int& status);
  // The capture's reference.
  void release();

 private:
  Flight(uint64_t upload_bytes, uint64_t download_bytes);
  ~Flight() = default;

  AlignedBytes upload_;
  AlignedBytes downloads_[2];
  uint32_t flags_[kFlagCount] = {};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = true;
  cl_int status_ = CL_COMPLETE;
  int references_ = 1;
};

}  // namespace modeld::opencl
