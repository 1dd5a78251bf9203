#include "runtime/device/host_buffer.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <string>

#include "runtime/base/checked.h"

namespace modeld {
namespace {

Status check_range(uint64_t offset, uint64_t length, uint64_t size) {
  if (range_fits(offset, length, size)) return {};
  return Error(ErrorCode::kInvalidArgument, "buffer access out of range")
      .expecting("inside " + std::to_string(size) + " bytes",
                 std::to_string(length) + " bytes at offset " + std::to_string(offset));
}

}  // namespace

Result<std::unique_ptr<Buffer>> HostBuffer::allocate(const void* owner, uint64_t bytes,
                                                     uint64_t alignment, uint64_t available) {
  if (!std::has_single_bit(alignment)) {
    return Error(ErrorCode::kInvalidArgument, "buffer alignment")
        .expecting("a power of two", std::to_string(alignment));
  }
  // aligned_alloc wants at least a pointer's alignment.
  const uint64_t raised = std::max<uint64_t>(alignment, sizeof(void*));
  AlignedBytes memory;
  if (bytes <= available && raised <= available) memory = AlignedBytes(bytes, raised);
  if (!memory.ok()) {
    return Error(ErrorCode::kExhausted, "buffer allocation")
        .expecting("at most " + std::to_string(available) + " bytes",
                   std::to_string(bytes) + " bytes aligned to " + std::to_string(alignment));
  }
  const std::span<std::byte> pages = memory.span();
  return std::unique_ptr<Buffer>(new HostBuffer(owner, std::move(memory), pages));
}

Result<std::unique_ptr<Buffer>> HostBuffer::import(const void* owner, std::span<std::byte> pages) {
  if (pages.empty()) {
    return Error(ErrorCode::kInvalidArgument, "host import").expecting("pages", "0 bytes");
  }
  return std::unique_ptr<Buffer>(new HostBuffer(owner, AlignedBytes(), pages));
}

uint64_t HostBuffer::alignment() const {
  return uint64_t{1} << std::countr_zero(reinterpret_cast<uintptr_t>(pages_.data()));
}

BufferOwnership HostBuffer::ownership() const {
  return owned_.ok() ? BufferOwnership::kOwned : BufferOwnership::kImported;
}

Status HostBuffer::write(uint64_t offset, std::span<const std::byte> bytes) {
  MODELD_TRY(check_range(offset, bytes.size(), size()));
  std::copy(bytes.begin(), bytes.end(), data() + offset);
  return {};
}

Status HostBuffer::read(uint64_t offset, std::span<std::byte> bytes) {
  MODELD_TRY(check_range(offset, bytes.size(), size()));
  std::copy_n(data() + offset, bytes.size(), bytes.begin());
  return {};
}

Result<HostBuffer*> host_buffer_for_bind(Buffer& buffer, const void* owner, uint64_t bytes) {
  auto* host = dynamic_cast<HostBuffer*>(&buffer);
  if (host == nullptr || host->owner() != owner) {
    return Error(ErrorCode::kInvalidArgument, "bound buffer")
        .expecting("a buffer of this device", "another device's");
  }
  if (host->size() < bytes) {
    return Error(ErrorCode::kInvalidArgument, "bound buffer")
        .expecting("at least " + std::to_string(bytes) + " bytes",
                   std::to_string(host->size()) + " bytes");
  }
  return host;
}

uint64_t physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

}  // namespace modeld
