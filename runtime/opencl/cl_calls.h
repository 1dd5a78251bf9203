// Every OpenCL function this backend calls, as one table: tests put a layer between us and the
// driver by handing another table to the device.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.h"

namespace modeld::opencl {

// OpenCL 1.2 core, nothing newer.
#define MODELD_CL_CALLS(X)     \
  X(GetPlatformIDs)            \
  X(GetPlatformInfo)           \
  X(GetDeviceIDs)              \
  X(GetDeviceInfo)             \
  X(CreateContext)             \
  X(ReleaseContext)            \
  X(CreateCommandQueue)        \
  X(ReleaseCommandQueue)       \
  X(CreateBuffer)              \
  X(CreateSubBuffer)           \
  X(ReleaseMemObject)          \
  X(CreateProgramWithSource)   \
  X(CreateProgramWithBinary)   \
  X(BuildProgram)              \
  X(GetProgramInfo)            \
  X(GetProgramBuildInfo)       \
  X(ReleaseProgram)            \
  X(CreateKernel)              \
  X(SetKernelArg)              \
  X(ReleaseKernel)             \
  X(EnqueueNDRangeKernel)      \
  X(EnqueueReadBuffer)         \
  X(EnqueueWriteBuffer)        \
  X(EnqueueCopyBuffer)         \
  X(EnqueueFillBuffer)         \
  X(EnqueueMapBuffer)          \
  X(EnqueueUnmapMemObject)     \
  X(EnqueueMarkerWithWaitList) \
  X(SetEventCallback)          \
  X(GetEventInfo)              \
  X(GetEventProfilingInfo)     \
  X(ReleaseEvent)              \
  X(Flush)                     \
  X(Finish)

struct ClCalls {
#define MODELD_CL_MEMBER(name) decltype(&::cl##name) name = ::cl##name;
  MODELD_CL_CALLS(MODELD_CL_MEMBER)
#undef MODELD_CL_MEMBER
};

// The driver's own functions. Lives for the whole process.
const ClCalls& driver_calls();

// "CL_OUT_OF_RESOURCES (-5)". Names from the OpenCL 1.2 specification, section 5 and appendix.
std::string error_name(cl_int code);

// kExhausted for lack of memory, kDeviceLost where the code says that the device is gone, else
// kDevice. `what` is the function or the action that failed.
Error cl_error(std::string_view what, cl_int code);
inline Status cl_status(std::string_view what, cl_int code) {
  if (code == CL_SUCCESS) return {};
  return cl_error(what, code);
}

// Owns one reference to an OpenCL object. What a release answers is not used: there is nothing to
// be done about it, and the object is not touched again.
template <typename T>
class ClHandle {
 public:
  using Release = cl_int (*)(T);

  ClHandle() = default;
  ClHandle(T handle, Release release) : handle_(handle), release_(release) {}
  ClHandle(ClHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(other.release_) {}
  ClHandle& operator=(ClHandle&& other) noexcept {
    if (this == &other) return *this;
    reset();
    handle_ = std::exchange(other.handle_, nullptr);
    release_ = other.release_;
    return *this;
  }
  ~ClHandle() { reset(); }

  T get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  void reset() {
    if (handle_ != nullptr) static_cast<void>(release_(handle_));
    handle_ = nullptr;
  }

 private:
  T handle_ = nullptr;
  Release release_ = nullptr;
};

using ClContextHandle = ClHandle<cl_context>;
using ClQueueHandle = ClHandle<cl_command_queue>;
using ClMemHandle = ClHandle<cl_mem>;
using ClProgramHandle = ClHandle<cl_program>;
using ClKernelHandle = ClHandle<cl_kernel>;
using ClEventHandle = ClHandle<cl_event>;

}  // namespace modeld::opencl
