#include "tests/daemon/support/fake_camera.h"

#include <algorithm>
#include <cstring>

namespace modeld::test {

class FakeCamera::Buffer final : public ipc::FrameBuffer {
 public:
  Buffer(const Nv12Layout& layout, const bool& truncated, Reads& reads)
      : layout_(layout), truncated_(truncated), reads_(reads), bytes_(layout.length) {}
  std::span<const std::byte> bytes() const override { return bytes_; }
  const Nv12Layout& layout() const override { return layout_; }
  int fd() const override { return -1; }
  bool intact() const override { return !truncated_; }
  uint64_t trailing_frame_id() const override { return id; }
  Status begin_read() const override {
    if (reads_.refused) return Error(ErrorCode::kIo, "DMA_BUF_IOCTL_SYNC");
    ++reads_.open;
    ++reads_.total;
    return {};
  }
  void end_read() const override { --reads_.open; }
  std::span<std::byte> writable() { return bytes_; }

  uint64_t id = 0;

 private:
  Nv12Layout layout_;
  const bool& truncated_;
  Reads& reads_;
  std::vector<std::byte> bytes_;
};

class FakeCamera::Stream final : public ipc::FrameStream {
 public:
  Stream(FakeCamera& camera, bool conflate, uint32_t guard)
      : camera_(camera), conflate_(conflate), guard_(guard) {}

  Result<std::optional<ipc::Frame>> receive(Deadline deadline) override {
    auto& waiting = camera_.notifications_;
    if (waiting.empty()) {
      camera_.clock_.set(std::max(camera_.clock_.monotonic(), deadline.at));
      return std::optional<ipc::Frame>();
    }
    if (conflate_) {
      camera_.state_.skipped += waiting.size() - 1;
      waiting.erase(waiting.begin(), waiting.end() - 1);
    }
    ipc::Frame frame{waiting.front(), camera_.ring_[waiting.front().buffer_index]};
    waiting.pop_front();
    frame.info.receive_ns = camera_.clock_.monotonic();
    return std::optional(frame);
  }
  void maintain() override {}
  ipc::FrameCheck check(const ipc::Frame& frame) override {
    ++camera_.checks_;
    if (camera_.before_check) camera_.before_check(camera_.checks_);
    if (!frame.buffer->intact()) return ipc::FrameCheck::kUnreadable;
    return ipc::check_frame(frame.info, frame.buffer->trailing_frame_id(),
                            camera_.newest_.value_or(0),
                            static_cast<uint32_t>(camera_.ring_.size()), guard_);
  }
  std::optional<uint32_t> newest_notified_id() const override { return camera_.newest_; }
  const ipc::StreamState& state() const override { return camera_.state_; }

 private:
  FakeCamera& camera_;
  const bool conflate_;
  const uint32_t guard_;
};

FakeCamera::FakeCamera(const Nv12Layout& layout, size_t buffers, ManualClock& clock)
    : layout_(layout), clock_(clock), ring_(buffers) {
  restart();
}

void FakeCamera::restart() {
  for (auto& buffer : ring_) buffer = std::make_shared<Buffer>(layout_, truncated_, reads);
  notifications_.clear();
  newest_.reset();
  next_ = 0;
  ++state_.connects;
  state_.connected = true;
  state_.server_id += 0x1000;
  state_.num_buffers = static_cast<uint32_t>(ring_.size());
  state_.layout = layout_;
}

void FakeCamera::fill(Buffer& buffer, uint64_t picture) {
  const auto value = static_cast<uint8_t>(picture * 37 + 11);
  const auto bytes = buffer.writable();
  std::memset(bytes.data(), value, bytes.size());
  for (size_t at = 0; at < bytes.size(); at += 4096) bytes[at] = std::byte(value + at / 4096);
}

void FakeCamera::send(uint32_t frame_id, uint64_t sof_ns, uint64_t picture) {
  Buffer& buffer = *ring_[next_];
  fill(buffer, picture);
  buffer.id = frame_id;
  ipc::FrameInfo info;
  info.server_id = state_.server_id;
  info.buffer_index = static_cast<uint32_t>(next_);
  info.frame_id = frame_id;
  info.timestamp_sof_ns = sof_ns;
  info.timestamp_eof_ns = sof_ns + 5'000'000;
  notifications_.push_back(info);
  newest_ = frame_id;
  ++state_.notifications;
  next_ = (next_ + 1) % ring_.size();
}

void FakeCamera::start_overwriting(uint64_t picture) {
  fill(*ring_[next_], picture);
}

std::unique_ptr<ipc::FrameStream> FakeCamera::stream(bool conflate, uint32_t guard) {
  return std::make_unique<Stream>(*this, conflate, guard);
}

}  // namespace modeld::test
