// A camera whose frames are handed over by the replay, as a daemon's loop sees it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ipc/frames/frame_source.h"
#include "runtime/base/clock.h"

namespace modeld::replay {

// Buffers to put pictures into; one is used again when nobody holds it any more.
class FrameBuffers {
 public:
  // `layout` has been checked.
  explicit FrameBuffers(const Nv12Layout& layout) : layout_(layout) {}

  class Buffer final : public ipc::FrameBuffer {
   public:
    explicit Buffer(const Nv12Layout& layout) : layout_(layout), bytes_(layout.length) {}
    std::span<const std::byte> bytes() const override { return bytes_; }
    const Nv12Layout& layout() const override { return layout_; }
    int fd() const override { return -1; }
    bool intact() const override { return true; }
    uint64_t trailing_frame_id() const override { return frame_id; }
    std::span<std::byte> writable() { return bytes_; }

    uint64_t frame_id = 0;
    uint32_t number = 0;

   private:
    const Nv12Layout layout_;
    std::vector<std::byte> bytes_;
  };

  const Nv12Layout& layout() const { return layout_; }
  std::shared_ptr<Buffer> take();

 private:
  const Nv12Layout layout_;
  std::vector<std::shared_ptr<Buffer>> all_;
};

// receive() never waits: the replay has either shown a frame or not. Not thread-safe.
class ReplayStream final : public ipc::FrameStream {
 public:
  ReplayStream(const Clock& clock, uint64_t server_id, const Nv12Layout& layout, bool conflate);

  // What a notification of the camera would bring. Conflating, an older frame still waiting is
  // passed over (counted in state().skipped).
  void show(ipc::FrameInfo info, std::shared_ptr<FrameBuffers::Buffer> buffer);
  // Frames waiting to be received.
  size_t waiting() const { return waiting_.size(); }

  Result<std::optional<ipc::Frame>> receive(Deadline deadline) override;
  void maintain() override {}
  ipc::FrameCheck check(const ipc::Frame& frame) override;
  std::optional<uint32_t> newest_notified_id() const override { return newest_; }
  const ipc::StreamState& state() const override { return state_; }

 private:
  const Clock& clock_;
  const bool conflate_;
  std::vector<ipc::Frame> waiting_;
  std::optional<uint32_t> newest_;
  ipc::StreamState state_;
};

}  // namespace modeld::replay
