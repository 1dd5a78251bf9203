// One opened compute device: what a backend must provide.
#pragma once

#include <memory>
#include <span>

#include "runtime/artifact/model.h"
#include "runtime/device/buffer.h"
#include "runtime/device/capabilities.h"
#include "runtime/device/capture.h"

namespace modeld {

// Thread-safe for capabilities(); otherwise driven by one thread. Captures and Buffers must not
// outlive their Device.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceCapabilities& capabilities() const = 0;

  // `alignment` is a power of two. kExhausted names requested and available bytes.
  virtual Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) = 0;

  // Wraps host pages that stay the caller's. kUnsupported where the device cannot.
  virtual Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) = 0;

  // The same for pages that are `fd`'s, mapped from its start: a device in another process maps the
  // descriptor itself. `fd` is borrowed for the call; -1 if there is none.
  virtual Result<std::unique_ptr<Buffer>> import_shared(int fd, std::span<std::byte> pages) {
    static_cast<void>(fd);
    return import_host(pages);
  }

  // Ends whatever the device is doing, for good: every later call answers kDeviceLost. False where
  // work in flight cannot be ended; it then goes on.
  virtual bool abandon() { return false; }

  // Every kernel has run once: from now on the device opens no file and generates no code. A device
  // behind a sandbox closes it here.
  virtual Status seal() { return {}; }

  // Records `program` once. Reads every weight it needs now; `weights` is not used afterwards.
  // The program must have passed verify(); an op or dtype the backend lacks is kUnsupported and
  // names the op.
  virtual Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                                  const CaptureOptions& options) = 0;
};

}  // namespace modeld
