// Camera buffers being read by the processor.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>

#include "ipc/frames/frame_source.h"

namespace modeld::ipc {

// Between begin() and end(), or the end of its life, buffers may be read. Not thread-safe; the
// buffers outlive it.
class ReadBracket {
 public:
  ReadBracket() = default;
  ~ReadBracket() { end(); }
  ReadBracket(const ReadBracket&) = delete;
  ReadBracket& operator=(const ReadBracket&) = delete;

  Status begin(const FrameBuffer& buffer) {
    assert(count_ < buffers_.size());
    MODELD_TRY(buffer.begin_read());
    buffers_[count_++] = &buffer;
    return {};
  }
  void end() {
    while (count_ > 0) buffers_[--count_]->end_read();
  }

 private:
  std::array<const FrameBuffer*, 4> buffers_{};  // as many as a daemon has pictures, and more
  size_t count_ = 0;
};

}  // namespace modeld::ipc
