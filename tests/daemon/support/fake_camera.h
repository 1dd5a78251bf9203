// A camera in memory: a ring of buffers without reader lock, like the real ones.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "ipc/frames/frame_source.h"

namespace modeld::test {

class FakeCamera {
 public:
  FakeCamera(const Nv12Layout& layout, size_t buffers, ManualClock& clock);

  // Writes a picture that depends on `picture`, then the id, then notifies, as a camera does.
  void send(uint32_t frame_id, uint64_t sof_ns, uint64_t picture);
  // Writes pixels into the next buffer and neither id nor notification: an overwrite under way.
  void start_overwriting(uint64_t picture);
  // A new server with new buffers.
  void restart();
  void set_connected(bool connected) { state_.connected = connected; }
  // Files behind the buffers of this server become too short.
  void truncate() { truncated_ = true; }

  // What was asked of begin_read() and end_read(), and what the first is to answer.
  struct Reads {
    int open = 0;
    uint64_t total = 0;
    bool refused = false;
  };
  Reads reads;

  // Runs before every check() of a reader, which may have been slow; gets the check's number,
  // from 1.
  std::function<void(uint64_t)> before_check;

  // One reader. The camera must outlive it.
  std::unique_ptr<ipc::FrameStream> stream(bool conflate, uint32_t guard = 1);

 private:
  class Buffer;
  class Stream;
  void fill(Buffer& buffer, uint64_t picture);

  Nv12Layout layout_;
  ManualClock& clock_;
  std::vector<std::shared_ptr<Buffer>> ring_;
  size_t next_ = 0;
  std::deque<ipc::FrameInfo> notifications_;
  std::optional<uint32_t> newest_;
  ipc::StreamState state_;
  bool truncated_ = false;
  uint64_t checks_ = 0;
};

}  // namespace modeld::test
