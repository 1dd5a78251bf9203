// A camera's buffer in this process, mapped read-only.
#pragma once

#include <memory>

#include "ipc/frames/frame_source.h"
#include "ipc/frames/vision_protocol.h"
#include "runtime/base/unique_fd.h"

namespace modeld::ipc {

// What a dma-buf's exporter is told before and after its memory is read: DMA_BUF_IOCTL_SYNC with
// these flags (linux/dma-buf.h), 0 or an errno.
using SyncCall = int (*)(int fd, uint64_t flags);
int sync_dma_buf(int fd, uint64_t flags);

class MappedBuffer final : public FrameBuffer {
 public:
  // Maps `fd` as `record` says. The file must be as long as the mapping: pages behind its end would
  // fault. kCorrupt names both lengths if not. What answers to `sync` is taken for a dma-buf.
  static Result<std::shared_ptr<const FrameBuffer>> map(const BufferRecord& record, UniqueFd fd,
                                                        SyncCall sync = sync_dma_buf);
  ~MappedBuffer() override;
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;

  std::span<const std::byte> bytes() const override;
  const Nv12Layout& layout() const override { return layout_; }
  int fd() const override { return fd_.get(); }
  bool intact() const override;
  uint64_t trailing_frame_id() const override;
  Status begin_read() const override;
  void end_read() const override;
  bool is_dma_buf() const { return is_dma_buf_; }

 private:
  MappedBuffer(const BufferRecord& record, UniqueFd fd, const std::byte* start, SyncCall sync);

  const Nv12Layout layout_;
  const uint64_t mmap_length_;
  const UniqueFd fd_;
  const std::byte* const start_;
  const SyncCall sync_;
  const bool is_dma_buf_;
};

}  // namespace modeld::ipc
