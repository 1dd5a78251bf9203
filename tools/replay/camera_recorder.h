// One camera's frames into a video file, on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/result.h"
#include "tools/replay/video_writer.h"
#include "warp/nv12_layout.h"

namespace modeld::replay {

// Copies are queued, at most `depth`; a frame that finds the queue full is refused by the caller's
// call and is the caller's to count. Calls come from one thread; encoding happens on another.
class CameraRecorder {
 public:
  CameraRecorder(const Nv12Layout& layout, bool hevc, size_t depth);
  ~CameraRecorder();  // waits for what is queued
  CameraRecorder(const CameraRecorder&) = delete;
  CameraRecorder& operator=(const CameraRecorder&) = delete;

  // The frames that follow go to `path`; what came before is finished first.
  void open(const std::filesystem::path& path);

  // A buffer to copy a picture of the layout into; null if all are queued.
  std::vector<std::byte>* free_buffer();
  // Queues the buffer that free_buffer() gave; the next picture of the file.
  void submit();

  // Ends the file; returns when everything is on disk, or the first error of all.
  Status finish();
  // The first error so far.
  Status status();

 private:
  struct Item {
    std::filesystem::path open;  // set: begin this file; empty without a buffer: end
    std::vector<std::byte>* picture = nullptr;
  };
  void work();
  Status handle(const Item& item);
  void push(Item item);

  const Nv12Layout layout_;
  const bool hevc_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> buffers_;
  std::vector<std::byte>* lent_ = nullptr;  // the caller's between free_buffer() and submit()

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::vector<std::vector<std::byte>*> free_;
  std::deque<Item> queue_;
  bool busy_ = false;
  bool ending_ = false;
  Status status_;

  std::unique_ptr<VideoWriter> writer_;  // the thread's
  std::thread thread_;
};

}  // namespace modeld::replay
