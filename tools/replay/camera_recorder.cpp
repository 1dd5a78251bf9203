#include "tools/replay/camera_recorder.h"

#include <utility>

namespace modeld::replay {

CameraRecorder::CameraRecorder(const Nv12Layout& layout, bool hevc, size_t depth)
    : layout_(layout), hevc_(hevc) {
  for (size_t i = 0; i < depth; ++i) {
    buffers_.push_back(std::make_unique<std::vector<std::byte>>(layout.bytes_in_use()));
    free_.push_back(buffers_.back().get());
  }
  thread_ = std::thread([this] { work(); });
}

CameraRecorder::~CameraRecorder() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CameraRecorder::push(Item item) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void CameraRecorder::open(const std::filesystem::path& path) {
  push({path, nullptr});
}

std::vector<std::byte>* CameraRecorder::free_buffer() {
  if (lent_ != nullptr) return lent_;
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  lent_ = free_.back();
  free_.pop_back();
  return lent_;
}

void CameraRecorder::submit() {
  push({{}, std::exchange(lent_, nullptr)});
}

Status CameraRecorder::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

Status CameraRecorder::finish() {
  push({});
  std::unique_lock lock(mutex_);
  // No deadline of our own: each picture is bounded work, and the queue is bounded.
  changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
  return status_;
}

Status CameraRecorder::handle(const Item& item) {
  if (item.picture != nullptr)
    return writer_ ? writer_->add(view_nv12(layout_, *item.picture)) : Status();
  if (writer_) {
    const auto ended = std::move(writer_);
    MODELD_TRY(ended->finish());
  }
  if (item.open.empty()) return {};
  const VideoFormat format = hevc_ ? lossless_hevc(layout_.width, layout_.height)
                                   : lossless_ffv1(layout_.width, layout_.height);
  MODELD_ASSIGN(writer_, VideoWriter::create(item.open, format));
  return {};
}

void CameraRecorder::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    const bool healthy = status_.ok();
    lock.unlock();
    Status handled = healthy ? handle(item) : Status();
    lock.lock();
    busy_ = false;
    if (!handled.ok()) status_ = std::move(handled);
    if (item.picture != nullptr) free_.push_back(item.picture);
    changed_.notify_all();
  }
}

}  // namespace modeld::replay
