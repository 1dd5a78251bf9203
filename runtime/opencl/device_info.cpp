#include "runtime/opencl/device_info.h"

#include <array>
#include <cstdio>

namespace modeld::opencl {
namespace {

// cl_khr_pci_bus_info; spelled here because OpenCL 1.2 headers may lack it.
constexpr cl_device_info kPciBusInfo = 0x410F;
struct ClPciBusInfo {
  cl_uint domain, bus, device, function;
};

template <typename T>
T number(const ClCalls& calls, cl_device_id device, cl_device_info what) {
  T value{};
  if (calls.GetDeviceInfo(device, what, sizeof value, &value, nullptr) != CL_SUCCESS) return T{};
  return value;
}

// Without the terminating zero.
template <typename Query>
std::string text(const Query& query) {
  size_t size = 0;
  constexpr size_t kMost = 1 << 20;
  if (query(0, nullptr, &size) != CL_SUCCESS || size < 2 || size > kMost) return "";
  std::string found(size, '\0');
  if (query(size, found.data(), nullptr) != CL_SUCCESS) return "";
  found.resize(found.find('\0') == std::string::npos ? size : found.find('\0'));
  return found;
}

std::string text(const ClCalls& calls, cl_device_id device, cl_device_info what) {
  return text([&](size_t size, void* to, size_t* needed) {
    return calls.GetDeviceInfo(device, what, size, to, needed);
  });
}

std::string text(const ClCalls& calls, cl_platform_id platform, cl_platform_info what) {
  return text([&](size_t size, void* to, size_t* needed) {
    return calls.GetPlatformInfo(platform, what, size, to, needed);
  });
}

DeviceInfo describe(const ClCalls& calls, cl_platform_id platform, cl_device_id device) {
  DeviceInfo info;
  info.platform = platform;
  info.device = device;
  info.platform_name = text(calls, platform, CL_PLATFORM_NAME);
  info.platform_version = text(calls, platform, CL_PLATFORM_VERSION);
  info.name = text(calls, device, CL_DEVICE_NAME);
  info.vendor = text(calls, device, CL_DEVICE_VENDOR);
  info.version = text(calls, device, CL_DEVICE_VERSION);
  info.driver_version = text(calls, device, CL_DRIVER_VERSION);
  info.profile = text(calls, device, CL_DEVICE_PROFILE);
  info.extensions = text(calls, device, CL_DEVICE_EXTENSIONS);
  info.type = number<cl_device_type>(calls, device, CL_DEVICE_TYPE);
  info.available = number<cl_bool>(calls, device, CL_DEVICE_AVAILABLE) != CL_FALSE;
  info.compiler = number<cl_bool>(calls, device, CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE;
  info.little_endian = number<cl_bool>(calls, device, CL_DEVICE_ENDIAN_LITTLE) != CL_FALSE;
  info.unified_memory = number<cl_bool>(calls, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  info.address_bits = number<cl_uint>(calls, device, CL_DEVICE_ADDRESS_BITS);
  info.compute_units = number<cl_uint>(calls, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  info.base_align_bits = number<cl_uint>(calls, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
  info.float_vector_width = number<cl_uint>(calls, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  info.max_work_group = number<size_t>(calls, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  info.max_allocation = number<cl_ulong>(calls, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.global_memory = number<cl_ulong>(calls, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.local_memory = number<cl_ulong>(calls, device, CL_DEVICE_LOCAL_MEM_SIZE);
  info.single_config = number<cl_device_fp_config>(calls, device, CL_DEVICE_SINGLE_FP_CONFIG);
  info.double_config = number<cl_device_fp_config>(calls, device, CL_DEVICE_DOUBLE_FP_CONFIG);
  info.timer_resolution = number<size_t>(calls, device, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
  if (info.has_extension("cl_khr_pci_bus_info")) {
    ClPciBusInfo bus{};
    if (calls.GetDeviceInfo(device, kPciBusInfo, sizeof bus, &bus, nullptr) == CL_SUCCESS) {
      info.pci = PciAddress{bus.domain, bus.bus, bus.device, bus.function};
    }
  }
  return info;
}

void add_devices(const ClCalls& calls, cl_platform_id platform, Discovered& found) {
  cl_uint count = 0;
  const cl_int asked = calls.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (asked == CL_DEVICE_NOT_FOUND) return;
  std::vector<cl_device_id> devices(count);
  cl_int code = asked;
  if (code == CL_SUCCESS && count > 0) {
    code = calls.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  }
  if (code != CL_SUCCESS) {
    found.problems.push_back(text(calls, platform, CL_PLATFORM_NAME) + ": " +
                             to_string(cl_error("clGetDeviceIDs", code)));
    return;
  }
  for (const cl_device_id device : devices) {
    found.devices.push_back(describe(calls, platform, device));
  }
}

}  // namespace

std::string to_string(const PciAddress& address) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04x:%02x:%02x.%u", address.domain, address.bus,
                address.device, address.function);
  return buffer.data();
}

bool DeviceInfo::has_extension(std::string_view extension) const {
  const std::string padded = " " + extensions + " ";
  return padded.find(" " + std::string(extension) + " ") != std::string::npos;
}

Discovered discover_devices(const ClCalls& calls) {
  Discovered found;
  cl_uint count = 0;
  cl_int code = calls.GetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(code == CL_SUCCESS ? count : 0);
  if (!platforms.empty()) code = calls.GetPlatformIDs(count, platforms.data(), nullptr);
  if (code != CL_SUCCESS) {
    found.problems.push_back(to_string(cl_error("clGetPlatformIDs", code)));
    return found;
  }
  for (const cl_platform_id platform : platforms) add_devices(calls, platform, found);
  return found;
}

}  // namespace modeld::opencl
