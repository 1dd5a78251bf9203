#include "runtime/opencl/session.h"

#include <algorithm>

namespace modeld::opencl {

Result<std::shared_ptr<Session>> Session::open(const ClCalls& calls, const DeviceInfo& info,
                                               const Traits& traits, Tuning tuning) {
  const std::shared_ptr<Session> session(new Session(calls, info, traits, std::move(tuning)));
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(info.platform), 0};
  cl_int code = CL_SUCCESS;
  cl_context context = calls.CreateContext(properties, 1, &info.device, nullptr, nullptr, &code);
  MODELD_TRY(cl_status("clCreateContext", code));
  session->context_ = ClContextHandle(context, calls.ReleaseContext);
  cl_command_queue queue =
      calls.CreateCommandQueue(context, info.device, CL_QUEUE_PROFILING_ENABLE, &code);
  MODELD_TRY(cl_status("clCreateCommandQueue", code));
  session->queue_ = ClQueueHandle(queue, calls.ReleaseCommandQueue);
  return session;
}

uint64_t Session::base_alignment() const {
  return std::max<uint64_t>(info_.base_align_bits / 8, 1);
}

Result<ClMemHandle> Session::create_buffer(uint64_t bytes, cl_mem_flags flags, void* host) const {
  if (bytes > info_.max_allocation) {
    return Error(ErrorCode::kExhausted, "device memory")
        .expecting("at most " + std::to_string(info_.max_allocation) + " bytes",
                   std::to_string(bytes) + " bytes");
  }
  cl_int code = CL_SUCCESS;
  cl_mem memory =
      calls_.CreateBuffer(context_.get(), flags, std::max<uint64_t>(bytes, 1), host, &code);
  if (code != CL_SUCCESS) {
    return cl_error("clCreateBuffer", code)
        .in("device memory of " + std::to_string(bytes) + " bytes");
  }
  return ClMemHandle(memory, calls_.ReleaseMemObject);
}

}  // namespace modeld::opencl
