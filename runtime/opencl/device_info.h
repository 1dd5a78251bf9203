// What an OpenCL device says about itself, as plain data: selection and defaults work on this, so
// that they can be tested without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/opencl/cl_calls.h"

namespace modeld::opencl {

// Where a device sits on the PCI bus (cl_khr_pci_bus_info), if it says so.
struct PciAddress {
  uint32_t domain = 0;
  uint32_t bus = 0;
  uint32_t device = 0;
  uint32_t function = 0;
  bool operator==(const PciAddress&) const = default;
};
std::string to_string(const PciAddress& address);  // "0000:03:00.0"

// Numbers are what clGetDeviceInfo answered; 0 or empty where it answered an error.
struct DeviceInfo {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string platform_name;
  std::string platform_version;
  std::string name;
  std::string vendor;
  std::string version;  // "OpenCL 1.2 ..."
  std::string driver_version;
  std::string profile;
  std::string extensions;
  cl_device_type type = 0;
  bool available = false;
  bool compiler = false;
  bool little_endian = false;
  bool unified_memory = false;
  uint32_t address_bits = 0;
  uint32_t compute_units = 0;
  uint32_t base_align_bits = 0;
  uint32_t float_vector_width = 0;  // CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
  uint64_t max_work_group = 0;
  uint64_t max_allocation = 0;
  uint64_t global_memory = 0;
  uint64_t local_memory = 0;
  cl_device_fp_config single_config = 0;
  cl_device_fp_config double_config = 0;
  uint64_t timer_resolution = 0;  // ns
  std::optional<PciAddress> pci;

  // True if it computes on the host's processor.
  bool software() const { return (type & CL_DEVICE_TYPE_CPU) != 0; }
  // True if `extension` is in the list, as a whole word.
  bool has_extension(std::string_view extension) const;
  bool has_double() const { return double_config != 0; }
};

// Every device of every platform. A platform that answers an error is left out with its error in
// `problems`; no platform at all is an empty list.
struct Discovered {
  std::vector<DeviceInfo> devices;
  std::vector<std::string> problems;
};
Discovered discover_devices(const ClCalls& calls);

}  // namespace modeld::opencl
