// Device memory behind the Buffer interface.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device/buffer.h"
#include "runtime/opencl/session.h"

namespace modeld::opencl {

class OpenClBuffer final : public Buffer {
 public:
  // kInvalidArgument unless `alignment` is a power of two; kUnsupported for one the device does
  // not promise for the start of its buffers and cannot be had by rounding up; kExhausted above
  // the largest allocation.
  static Result<std::unique_ptr<Buffer>> allocate(SessionPointer session, uint64_t bytes,
                                                  uint64_t alignment);
  // kUnsupported where the device does not share the host's memory, or not at this address.
  static Result<std::unique_ptr<Buffer>> import(SessionPointer session, std::span<std::byte> pages);

  cl_mem memory() const { return memory_.get(); }
  const Session* session() const { return session_.get(); }

  uint64_t size() const override { return bytes_; }
  uint64_t alignment() const override { return alignment_; }
  BufferOwnership ownership() const override { return ownership_; }
  bool needs_flush() const override;
  Status write(uint64_t offset, std::span<const std::byte> bytes) override;
  Status read(uint64_t offset, std::span<std::byte> bytes) override;
  Status flush() override;
  Status invalidate() override;

 private:
  OpenClBuffer(SessionPointer session, ClMemHandle memory, uint64_t bytes, uint64_t alignment,
               BufferOwnership ownership, std::unique_ptr<std::byte, void (*)(void*)> pages)
      : session_(std::move(session)),
        pages_(std::move(pages)),
        memory_(std::move(memory)),
        bytes_(bytes),
        alignment_(alignment),
        ownership_(ownership) {}

  Status map_and_unmap(cl_map_flags flags);

  SessionPointer session_;
  std::unique_ptr<std::byte, void (*)(void*)> pages_;  // behind memory_, if we own them
  ClMemHandle memory_;                                 // released before its pages
  uint64_t bytes_;
  uint64_t alignment_;
  BufferOwnership ownership_;
};

// Import is offered where device and host share memory and host pages are at least this aligned.
bool can_import_host(const DeviceInfo& device);

}  // namespace modeld::opencl
