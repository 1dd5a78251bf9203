#include "ipc/frames/mapped_buffer.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace modeld::ipc {
namespace {

// Length of the object behind a descriptor: a shared-memory file by its inode, a dma-buf by its
// end.
Result<uint64_t> object_length(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error("fstat", errno);
  if (S_ISREG(info.st_mode) || info.st_size > 0) return static_cast<uint64_t>(info.st_size);
  const off_t end = ::lseek(fd, 0, SEEK_END);
  if (end < 0) return errno_error("length of a buffer", errno);
  return static_cast<uint64_t>(end);
}

}  // namespace

Result<std::shared_ptr<const FrameBuffer>> MappedBuffer::map(const BufferRecord& record,
                                                             UniqueFd fd) {
  MODELD_ASSIGN(const uint64_t available, object_length(fd.get()));
  if (available < record.mmap_length) {
    return Error(ErrorCode::kCorrupt, "buffer file shorter than its mapping")
        .expecting(std::to_string(record.mmap_length) + " bytes", std::to_string(available));
  }
  void* start = ::mmap(nullptr, record.mmap_length, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED) return errno_error("mapping a buffer", errno);
  return std::shared_ptr<const FrameBuffer>(
      new MappedBuffer(record, std::move(fd), static_cast<const std::byte*>(start)));
}

MappedBuffer::~MappedBuffer() {
  ::munmap(const_cast<std::byte*>(start_), mmap_length_);
}

std::span<const std::byte> MappedBuffer::bytes() const {
  return {start_, layout_.length};
}

bool MappedBuffer::intact() const {
  const auto available = object_length(fd_.get());
  return available.ok() && *available >= mmap_length_;
}

uint64_t MappedBuffer::trailing_frame_id() const {
  // Reads of pixels stay on their side of the read of the id.
  std::atomic_thread_fence(std::memory_order_acquire);
  uint64_t id;
  std::memcpy(&id, start_ + layout_.length, sizeof(id));
  std::atomic_thread_fence(std::memory_order_acquire);
  return id;
}

}  // namespace modeld::ipc
