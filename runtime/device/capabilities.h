// What a device can do, as probed; never inferred from a name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artifact/contract.h"

namespace modeld {

// The answer of a probe. Unknown never reads as yes.
enum class Probed : uint8_t { kUnknown, kNo, kYes };
std::string_view to_string(Probed answer);  // "unknown", "no", "yes"

// One kind of memory a device offers.
struct MemoryKind {
  std::string name;  // "host", "device", "imported"
  Probed host_visible = Probed::kUnknown;
  Probed coherent = Probed::kUnknown;  // no: flush and invalidate are needed
  Probed cached = Probed::kUnknown;
  Probed snooped = Probed::kUnknown;
};

struct DeviceCapabilities {
  std::string backend;  // "reference", "cpu", "opencl"
  DeviceClass device_class = DeviceClass::kCpu;
  std::string name;
  std::string driver;
  std::string driver_version;
  uint32_t address_bits = 0;
  uint64_t max_allocation_bytes = 0;
  std::vector<uint64_t> page_bytes;
  uint64_t base_alignment_bytes = 0;
  std::vector<MemoryKind> memory;
  Probed software_device = Probed::kUnknown;  // runs on the host's processor
  Probed unified_memory = Probed::kUnknown;
  Probed host_pointer_import = Probed::kUnknown;
  Probed dma_buf_import = Probed::kUnknown;
  Probed peer_access = Probed::kUnknown;
  Probed copy_queue = Probed::kUnknown;
  Probed fp16 = Probed::kUnknown;
  Probed bf16 = Probed::kUnknown;
  Probed int8 = Probed::kUnknown;
  Probed timestamps = Probed::kUnknown;
};

}  // namespace modeld
