#include "runtime/cpu/cpu_device.h"

#include <algorithm>
#include <bit>
#include <new>
#include <system_error>
#include <thread>

#include "runtime/cpu/cpu_capture.h"
#include "runtime/cpu/onednn_call.h"
#include "runtime/cpu/probe.h"
#include "runtime/device/host_buffer.h"

namespace modeld {
namespace {

// Recording and replaying lock step for step; more members than this only wait for each other.
constexpr uint32_t kMaxThreads = 16;
constexpr uint32_t kDefaultThreads = 2;

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const BackendOptions& options)
      : capabilities_(cpu::probe_cpu()), threads_(options.threads) {}

  const DeviceCapabilities& capabilities() const override { return capabilities_; }

  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override {
    // Anything less is raised to a cache line; what is no alignment at all is refused there.
    const bool raise = std::has_single_bit(alignment) && alignment < AlignedBytes::kCacheLine;
    return HostBuffer::allocate(this, bytes, raise ? AlignedBytes::kCacheLine : alignment,
                                capabilities_.max_allocation_bytes);
  }

  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override {
    return HostBuffer::import(this, pages);
  }

  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override {
    MODELD_ASSIGN(const auto frames, match_frames(program, options));
    try {
      MODELD_ASSIGN(auto capture,
                    cpu::CpuCapture::record(this, program, weights, frames, threads_for(options)));
      return std::unique_ptr<Capture>(std::move(capture));
    } catch (const std::bad_alloc&) {
      return Error(ErrorCode::kExhausted, "memory for the capture");
    } catch (const std::system_error& error) {
      return Error(ErrorCode::kExhausted, std::string("threads of the capture: ") + error.what());
    }
  }

 private:
  unsigned threads_for(const CaptureOptions& options) const {
    const uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
    uint32_t wanted = options.threads != 0 ? options.threads : threads_;
    if (wanted == 0) wanted = std::min(kDefaultThreads, cores);
    return std::min(wanted, kMaxThreads);
  }

  DeviceCapabilities capabilities_;
  uint32_t threads_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device(const BackendOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

std::vector<CpuStep> cpu_steps(const Capture& capture) {
  const auto* own = dynamic_cast<const cpu::CpuCapture*>(&capture);
  return own == nullptr ? std::vector<CpuStep>() : own->steps();
}

void keep_cpu_step_times(Capture& capture, bool keep) {
  if (auto* own = dynamic_cast<cpu::CpuCapture*>(&capture)) own->keep_step_times(keep);
}

}  // namespace modeld
