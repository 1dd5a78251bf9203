// A camera's buffer in this process, mapped read-only.
#pragma once

#include <memory>

#include "ipc/frames/frame_source.h"
#include "ipc/frames/vision_protocol.h"
#include "runtime/base/unique_fd.h"

namespace modeld::ipc {

class MappedBuffer final : public FrameBuffer {
 public:
  // Maps `fd` as `record` says. The file must be as long as the mapping: pages behind its end would
  // fault. kCorrupt names both lengths if not.
  static Result<std::shared_ptr<const FrameBuffer>> map(const BufferRecord& record, UniqueFd fd);
  ~MappedBuffer() override;
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;

  std::span<const std::byte> bytes() const override;
  const Nv12Layout& layout() const override { return layout_; }
  int fd() const override { return fd_.get(); }
  bool intact() const override;
  uint64_t trailing_frame_id() const override;

 private:
  MappedBuffer(const BufferRecord& record, UniqueFd fd, const std::byte* start)
      : layout_(record.layout),
        mmap_length_(record.mmap_length),
        fd_(std::move(fd)),
        start_(start) {}

  const Nv12Layout layout_;
  const uint64_t mmap_length_;
  const UniqueFd fd_;
  const std::byte* const start_;
};

}  // namespace modeld::ipc
