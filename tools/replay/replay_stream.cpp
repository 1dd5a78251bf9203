#include "tools/replay/replay_stream.h"

#include <algorithm>
#include <utility>

namespace modeld::replay {

std::shared_ptr<FrameBuffers::Buffer> FrameBuffers::take() {
  for (const auto& buffer : all_) {
    if (buffer.use_count() == 1) return buffer;
  }
  all_.push_back(std::make_shared<Buffer>(layout_));
  all_.back()->number = static_cast<uint32_t>(all_.size() - 1);
  return all_.back();
}

ReplayStream::ReplayStream(const Clock& clock, uint64_t server_id, const Nv12Layout& layout,
                           bool conflate)
    : clock_(clock), conflate_(conflate) {
  state_.connected = true;
  state_.server_id = server_id;
  state_.layout = layout;
  state_.connects = 1;
}

void ReplayStream::show(ipc::FrameInfo info, std::shared_ptr<FrameBuffers::Buffer> buffer) {
  info.server_id = state_.server_id;
  info.buffer_index = buffer->number;
  buffer->frame_id = info.frame_id;
  ++state_.notifications;
  newest_ = info.frame_id;
  if (conflate_ && !waiting_.empty()) {
    state_.skipped += waiting_.size();
    waiting_.clear();
  }
  waiting_.push_back({info, std::move(buffer)});
}

Result<std::optional<ipc::Frame>> ReplayStream::receive(Deadline) {
  if (waiting_.empty()) return std::optional<ipc::Frame>();
  ipc::Frame frame = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  frame.info.receive_ns = clock_.monotonic();
  return std::optional<ipc::Frame>(std::move(frame));
}

// Nobody overwrites a replayed picture while it is held.
ipc::FrameCheck ReplayStream::check(const ipc::Frame&) {
  return ipc::FrameCheck::kIntact;
}

}  // namespace modeld::replay
