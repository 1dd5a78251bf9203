#include "runtime/opencl/render_nodes.h"

#include <fcntl.h>
#include <xf86drm.h>

#include <array>

#include "runtime/base/unique_fd.h"

namespace modeld::opencl {
namespace {

// No machine has more; the list is the kernel's, not a peer's.
constexpr int kMaxNodes = 64;

void add_driver(RenderNode& node) {
  const UniqueFd fd(::open(node.path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd.get() < 0) return;
  drmVersionPtr version = drmGetVersion(fd.get());
  if (version == nullptr) return;
  node.driver.assign(version->name, static_cast<size_t>(version->name_len));
  node.driver_version = std::to_string(version->version_major) + "." +
                        std::to_string(version->version_minor) + "." +
                        std::to_string(version->version_patchlevel);
  drmFreeVersion(version);
}

RenderNode describe(const drmDevice& device) {
  RenderNode node;
  node.path = device.nodes[DRM_NODE_RENDER];
  if (device.bustype == DRM_BUS_PCI) {
    const drmPciBusInfo& bus = *device.businfo.pci;
    node.pci = PciAddress{bus.domain, bus.bus, bus.dev, bus.func};
    node.vendor_id = device.deviceinfo.pci->vendor_id;
    node.device_id = device.deviceinfo.pci->device_id;
  }
  add_driver(node);
  return node;
}

}  // namespace

std::vector<RenderNode> render_nodes() {
  std::array<drmDevicePtr, kMaxNodes> devices{};
  const int count = drmGetDevices2(0, devices.data(), kMaxNodes);
  std::vector<RenderNode> nodes;
  for (int i = 0; i < count && i < kMaxNodes; ++i) {
    const drmDevice& device = *devices[static_cast<size_t>(i)];
    if ((device.available_nodes & (1 << DRM_NODE_RENDER)) != 0) nodes.push_back(describe(device));
  }
  if (count > 0) drmFreeDevices(devices.data(), count);
  return nodes;
}

const RenderNode* node_of(const DeviceInfo& device, const std::vector<RenderNode>& nodes) {
  if (!device.pci) return nullptr;
  for (const RenderNode& node : nodes) {
    if (node.pci == device.pci) return &node;
  }
  return nullptr;
}

}  // namespace modeld::opencl
