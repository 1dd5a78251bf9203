// Which device is used. Pure: no device is touched.
#pragma once

#include <span>
#include <string>

#include "runtime/opencl/device_info.h"

namespace modeld::opencl {

struct DeviceWish {
  // Part of "platform: device name"; empty takes any.
  std::string name;
  // Devices that compute on the host's processor (PoCL) are refused without this.
  bool software = false;
};

// Why a device cannot be used at all; empty if it can. Needs OpenCL 1.2, the full profile, a
// compiler and little-endian memory.
std::string unusable_because(const DeviceInfo& device);

// Position of the best usable device: GPUs before accelerators before software devices, then the
// one with more compute units, then the first. kNotFound names every device with the reason why it
// was passed over.
Result<size_t> select_device(std::span<const DeviceInfo> devices, const DeviceWish& wish);

}  // namespace modeld::opencl
