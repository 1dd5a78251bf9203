#include "ipc/frames/mapped_buffer.h"

#include <linux/dma-buf.h>
#include <sys/ioctl.h>
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

constexpr uint64_t kBegin = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ;
constexpr uint64_t kEnd = DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ;

}  // namespace

int sync_dma_buf(int fd, uint64_t flags) {
  dma_buf_sync request{};
  request.flags = flags;
  // Exporters that wait for a device may be interrupted; more than a few times is no accident.
  for (int attempt = 0; attempt < 8; ++attempt) {
    if (::ioctl(fd, DMA_BUF_IOCTL_SYNC, &request) == 0) return 0;
    if (errno != EINTR && errno != EAGAIN) break;
  }
  return errno;
}

MappedBuffer::MappedBuffer(const BufferRecord& record, UniqueFd fd, const std::byte* start,
                           SyncCall sync)
    : layout_(record.layout),
      mmap_length_(record.mmap_length),
      fd_(std::move(fd)),
      start_(start),
      sync_(sync),
      is_dma_buf_(sync(fd_.get(), kBegin) == 0) {
  if (is_dma_buf_) sync_(fd_.get(), kEnd);
}

Result<std::shared_ptr<const FrameBuffer>> MappedBuffer::map(const BufferRecord& record,
                                                             UniqueFd fd, SyncCall sync) {
  MODELD_ASSIGN(const uint64_t available, object_length(fd.get()));
  if (available < record.mmap_length) {
    return Error(ErrorCode::kCorrupt, "buffer file shorter than its mapping")
        .expecting(std::to_string(record.mmap_length) + " bytes", std::to_string(available));
  }
  void* start = ::mmap(nullptr, record.mmap_length, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED) return errno_error("mapping a buffer", errno);
  return std::shared_ptr<const FrameBuffer>(
      new MappedBuffer(record, std::move(fd), static_cast<const std::byte*>(start), sync));
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

Status MappedBuffer::begin_read() const {
  if (!is_dma_buf_) return {};
  const int failed = sync_(fd_.get(), kBegin);
  if (failed != 0) return errno_error("DMA_BUF_IOCTL_SYNC of a camera buffer", failed);
  return {};
}

void MappedBuffer::end_read() const {
  if (is_dma_buf_) sync_(fd_.get(), kEnd);
}

uint64_t MappedBuffer::trailing_frame_id() const {
  // A device may have written since the last look, behind the processor's caches.
  if (!begin_read().ok()) return ~uint64_t{0};
  // Reads of pixels stay on their side of the read of the id.
  std::atomic_thread_fence(std::memory_order_acquire);
  uint64_t id;
  std::memcpy(&id, start_ + layout_.length, sizeof(id));
  std::atomic_thread_fence(std::memory_order_acquire);
  end_read();
  return id;
}

}  // namespace modeld::ipc
