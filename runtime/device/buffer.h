// Memory a device can read or write, its own or somebody else's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/result.h"

namespace modeld {

enum class BufferOwnership : uint8_t {
  kOwned,     // allocated by the device, freed with the Buffer
  kImported,  // somebody else's pages (a camera's); must outlive the Buffer
};

// Not thread-safe. A Buffer must outlive every replay it is bound to.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint64_t size() const = 0;       // bytes
  virtual uint64_t alignment() const = 0;  // bytes, of the base address the device sees
  virtual BufferOwnership ownership() const = 0;
  // True if writes by one side reach the other only after flush (host -> device) or invalidate
  // (device -> host).
  virtual bool needs_flush() const = 0;

  virtual Status write(uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Status read(uint64_t offset, std::span<std::byte> bytes) = 0;
  virtual Status flush() = 0;
  virtual Status invalidate() = 0;
};

}  // namespace modeld
