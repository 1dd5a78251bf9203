// Buffers of backends that compute in host memory.
#pragma once

#include <memory>

#include "runtime/base/aligned_bytes.h"
#include "runtime/device/buffer.h"

namespace modeld {

// Coherent by nature: flush and invalidate do nothing. `owner` tells devices apart and is never
// followed.
class HostBuffer final : public Buffer {
 public:
  // kInvalidArgument unless `alignment` is a power of two; kExhausted above `available` bytes.
  static Result<std::unique_ptr<Buffer>> allocate(const void* owner, uint64_t bytes,
                                                  uint64_t alignment, uint64_t available);
  // kInvalidArgument for no pages.
  static Result<std::unique_ptr<Buffer>> import(const void* owner, std::span<std::byte> pages);

  const void* owner() const { return owner_; }
  std::byte* data() const { return pages_.data(); }

  uint64_t size() const override { return pages_.size(); }
  uint64_t alignment() const override;
  BufferOwnership ownership() const override;
  bool needs_flush() const override { return false; }
  Status write(uint64_t offset, std::span<const std::byte> bytes) override;
  Status read(uint64_t offset, std::span<std::byte> bytes) override;
  Status flush() override { return {}; }
  Status invalidate() override { return {}; }

 private:
  HostBuffer(const void* owner, AlignedBytes owned, std::span<std::byte> pages)
      : owner_(owner), owned_(std::move(owned)), pages_(pages) {}

  const void* owner_;
  AlignedBytes owned_;  // empty for an imported buffer
  std::span<std::byte> pages_;
};

// The HostBuffer behind `buffer` if it belongs to `owner` and holds at least `bytes`; else
// kInvalidArgument. For Capture::bind.
Result<HostBuffer*> host_buffer_for_bind(Buffer& buffer, const void* owner, uint64_t bytes);

// Bytes of the machine's memory.
uint64_t physical_memory_bytes();

}  // namespace modeld
