// One opened OpenCL device: context and command queue, and what is known about it.
#pragma once

#include <memory>

#include "runtime/opencl/cl_calls.h"
#include "runtime/opencl/device_info.h"
#include "runtime/opencl/traits.h"
#include "runtime/opencl/tuning.h"

namespace modeld::opencl {

// Not thread-safe beyond what OpenCL promises. Shared by the device and everything made from it.
class Session {
 public:
  static Result<std::shared_ptr<Session>> open(const ClCalls& calls, const DeviceInfo& info,
                                               const Traits& traits, Tuning tuning);

  const ClCalls& calls() const { return calls_; }
  const DeviceInfo& info() const { return info_; }
  const Traits& traits() const { return traits_; }
  const Tuning& tuning() const { return tuning_; }
  cl_context context() const { return context_.get(); }
  // In order, with profiling.
  cl_command_queue queue() const { return queue_.get(); }
  // Bytes; what the device promises for the start of every buffer.
  uint64_t base_alignment() const;

  // `flags` as clCreateBuffer takes them; `host` is null unless they say that it is used. 0 bytes
  // become 1, which OpenCL cannot do without.
  Result<ClMemHandle> create_buffer(uint64_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE,
                                    void* host = nullptr) const;

 private:
  Session(const ClCalls& calls, const DeviceInfo& info, const Traits& traits, Tuning tuning)
      : calls_(calls), info_(info), traits_(traits), tuning_(std::move(tuning)) {}

  const ClCalls calls_;
  const DeviceInfo info_;
  const Traits traits_;
  const Tuning tuning_;
  ClContextHandle context_;
  ClQueueHandle queue_;
};

using SessionPointer = std::shared_ptr<Session>;

}  // namespace modeld::opencl
