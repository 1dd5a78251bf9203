#include "runtime/cpu/probe.h"

#include <unistd.h>

#include <fstream>
#include <string>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "runtime/base/aligned_bytes.h"
#include "runtime/cpu/onednn_call.h"
#include "runtime/device/host_buffer.h"

namespace modeld::cpu {
namespace {

// The value of the first `key : value` line of /proc/cpuinfo; empty if there is none.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    return line.substr(colon + 2);
  }
  return "";
}

Probed answer(bool yes) {
  return yes ? Probed::kYes : Probed::kNo;
}

struct Arithmetic {
  Probed fp16 = Probed::kUnknown;
  Probed bf16 = Probed::kUnknown;
  Probed int8 = Probed::kUnknown;
};

// Instructions that compute in the narrow type, not merely convert it. Bits: Intel SDM volume 2,
// CPUID leaf 7 (sub-leaf 0: EDX 23 AVX512_FP16, ECX 11 AVX512_VNNI; sub-leaf 1: EAX 4 AVX_VNNI,
// EAX 5 AVX512_BF16).
Arithmetic probe_arithmetic() {
  Arithmetic found;
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  found.fp16 = answer((d >> 23 & 1u) != 0);
  const bool vnni512 = (c >> 11 & 1u) != 0;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) a = 0;
  found.bf16 = answer((a >> 5 & 1u) != 0);
  found.int8 = answer(vnni512 || (a >> 4 & 1u) != 0);
#endif
  return found;
}

}  // namespace

DeviceCapabilities probe_cpu() {
  DeviceCapabilities found;
  found.backend = "cpu";
  found.device_class = DeviceClass::kCpu;
  found.name = cpuinfo("model name");
  if (found.name.empty()) found.name = cpuinfo("Hardware");
  if (found.name.empty()) found.name = "processor";
  found.driver = "oneDNN";
  found.driver_version = onednn_version();
  found.address_bits = 8 * sizeof(void*);
  found.max_allocation_bytes = physical_memory_bytes();
  if (const long page = sysconf(_SC_PAGESIZE); page > 0) {
    found.page_bytes.push_back(static_cast<uint64_t>(page));
  }
  found.base_alignment_bytes = AlignedBytes::kCacheLine;
  found.memory.push_back({"host", Probed::kYes, Probed::kYes, Probed::kYes, Probed::kYes});
  found.software_device = Probed::kYes;
  found.unified_memory = Probed::kYes;
  found.host_pointer_import = Probed::kYes;
  found.dma_buf_import = Probed::kNo;
  found.peer_access = Probed::kNo;
  found.copy_queue = Probed::kNo;
  const Arithmetic arithmetic = probe_arithmetic();
  found.fp16 = arithmetic.fp16;
  found.bf16 = arithmetic.bf16;
  found.int8 = arithmetic.int8;
  found.timestamps = Probed::kYes;
  return found;
}

}  // namespace modeld::cpu
