#include "runtime/reference/reference_device.h"

#include <unistd.h>

#include "runtime/device/host_buffer.h"
#include "runtime/reference/reference_capture.h"

namespace modeld {
namespace {

DeviceCapabilities describe() {
  DeviceCapabilities found;
  found.backend = "reference";
  found.device_class = DeviceClass::kCpu;
  found.name = "reference interpreter";
  found.driver = "modeld";
  found.driver_version = "abi " + std::to_string(kRuntimeAbiVersion);
  found.address_bits = 8 * sizeof(void*);
  found.max_allocation_bytes = physical_memory_bytes();
  found.page_bytes = {static_cast<uint64_t>(sysconf(_SC_PAGESIZE))};
  found.base_alignment_bytes = AlignedBytes::kCacheLine;
  found.memory = {{"host", Probed::kYes, Probed::kYes, Probed::kYes, Probed::kYes},
                  {"imported", Probed::kYes, Probed::kYes, Probed::kUnknown, Probed::kUnknown}};
  found.software_device = Probed::kYes;
  found.unified_memory = Probed::kYes;
  found.host_pointer_import = Probed::kYes;
  found.dma_buf_import = Probed::kNo;
  found.peer_access = Probed::kNo;
  found.copy_queue = Probed::kNo;
  found.fp16 = Probed::kYes;
  found.bf16 = Probed::kYes;
  found.int8 = Probed::kYes;
  found.timestamps = Probed::kYes;
  return found;
}

class ReferenceDevice final : public Device {
 public:
  const DeviceCapabilities& capabilities() const override { return capabilities_; }

  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override {
    return HostBuffer::allocate(this, bytes, alignment, capabilities_.max_allocation_bytes);
  }

  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override {
    return HostBuffer::import(this, pages);
  }

  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override {
    return reference::record_capture(this, program, weights, options);
  }

 private:
  const DeviceCapabilities capabilities_ = describe();
};

}  // namespace

std::unique_ptr<Device> open_reference_device() {
  return std::make_unique<ReferenceDevice>();
}

}  // namespace modeld
