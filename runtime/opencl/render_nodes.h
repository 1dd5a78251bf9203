// The kernel's view of the graphics devices (libdrm): which driver serves them, and where they
// sit. For reports and deployment pins; OpenCL is what computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/opencl/device_info.h"

namespace modeld::opencl {

struct RenderNode {
  std::string path;  // "/dev/dri/renderD128"
  std::string driver;
  std::string driver_version;  // "3.54.0"; empty if the node could not be opened
  std::optional<PciAddress> pci;
  uint32_t vendor_id = 0;  // PCI ids; 0 for platform devices
  uint32_t device_id = 0;
};

// Empty where there are none, or none that may be looked at.
std::vector<RenderNode> render_nodes();

// The node of an OpenCL device: the one at its PCI address.
const RenderNode* node_of(const DeviceInfo& device, const std::vector<RenderNode>& nodes);

}  // namespace modeld::opencl
