#include "runtime/opencl/cl_calls.h"

#include <array>

namespace modeld::opencl {
namespace {

struct Name {
  cl_int code;
  std::string_view text;
};

#define MODELD_CL_NAME(code) \
  Name {                     \
    code, #code              \
  }
constexpr std::array kNames = {
    MODELD_CL_NAME(CL_DEVICE_NOT_FOUND),
    MODELD_CL_NAME(CL_DEVICE_NOT_AVAILABLE),
    MODELD_CL_NAME(CL_COMPILER_NOT_AVAILABLE),
    MODELD_CL_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    MODELD_CL_NAME(CL_OUT_OF_RESOURCES),
    MODELD_CL_NAME(CL_OUT_OF_HOST_MEMORY),
    MODELD_CL_NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
    MODELD_CL_NAME(CL_MEM_COPY_OVERLAP),
    MODELD_CL_NAME(CL_BUILD_PROGRAM_FAILURE),
    MODELD_CL_NAME(CL_MAP_FAILURE),
    MODELD_CL_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    MODELD_CL_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    MODELD_CL_NAME(CL_INVALID_VALUE),
    MODELD_CL_NAME(CL_INVALID_PLATFORM),
    MODELD_CL_NAME(CL_INVALID_DEVICE),
    MODELD_CL_NAME(CL_INVALID_CONTEXT),
    MODELD_CL_NAME(CL_INVALID_COMMAND_QUEUE),
    MODELD_CL_NAME(CL_INVALID_HOST_PTR),
    MODELD_CL_NAME(CL_INVALID_MEM_OBJECT),
    MODELD_CL_NAME(CL_INVALID_BINARY),
    MODELD_CL_NAME(CL_INVALID_BUILD_OPTIONS),
    MODELD_CL_NAME(CL_INVALID_PROGRAM),
    MODELD_CL_NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    MODELD_CL_NAME(CL_INVALID_KERNEL_NAME),
    MODELD_CL_NAME(CL_INVALID_KERNEL),
    MODELD_CL_NAME(CL_INVALID_ARG_INDEX),
    MODELD_CL_NAME(CL_INVALID_ARG_VALUE),
    MODELD_CL_NAME(CL_INVALID_ARG_SIZE),
    MODELD_CL_NAME(CL_INVALID_KERNEL_ARGS),
    MODELD_CL_NAME(CL_INVALID_WORK_DIMENSION),
    MODELD_CL_NAME(CL_INVALID_WORK_GROUP_SIZE),
    MODELD_CL_NAME(CL_INVALID_WORK_ITEM_SIZE),
    MODELD_CL_NAME(CL_INVALID_EVENT_WAIT_LIST),
    MODELD_CL_NAME(CL_INVALID_EVENT),
    MODELD_CL_NAME(CL_INVALID_OPERATION),
    MODELD_CL_NAME(CL_INVALID_BUFFER_SIZE),
    MODELD_CL_NAME(CL_INVALID_GLOBAL_WORK_SIZE),
};
#undef MODELD_CL_NAME

// What the ICD loader answers without any platform (cl_khr_icd).
constexpr cl_int kPlatformNotFound = -1001;

ErrorCode class_of(cl_int code) {
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
      return ErrorCode::kExhausted;
    case CL_DEVICE_NOT_AVAILABLE:
      return ErrorCode::kDeviceLost;
    case CL_DEVICE_NOT_FOUND:
    case kPlatformNotFound:
      return ErrorCode::kNotFound;
    default:
      return ErrorCode::kDevice;
  }
}

}  // namespace

const ClCalls& driver_calls() {
  static const ClCalls calls;
  return calls;
}

std::string error_name(cl_int code) {
  const std::string number = "(" + std::to_string(code) + ")";
  if (code == kPlatformNotFound) return "CL_PLATFORM_NOT_FOUND_KHR " + number;
  for (const Name& name : kNames) {
    if (name.code == code) return std::string(name.text) + " " + number;
  }
  return "OpenCL error " + number;
}

Error cl_error(std::string_view what, cl_int code) {
  return Error(class_of(code), std::string(what) + ": " + error_name(code));
}

}  // namespace modeld::opencl
