// What a daemon sees of a camera: frames in shared buffers that the camera owns and will overwrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "warp/nv12_layout.h"

namespace modeld::ipc {

// Stream types since 2022-07 (facts 1.8). Older servers number their streams otherwise.
constexpr uint32_t kNarrowRoadStream = 0;
constexpr uint32_t kCabinStream = 1;
constexpr uint32_t kWideRoadStream = 2;

// What the notification said. Timestamps are CLOCK_BOOTTIME. The notification's own `valid` flag is
// left out on purpose: real servers send false for good frames (facts 1.6).
struct FrameInfo {
  uint64_t server_id = 0;     // random, new for every start of the server
  uint32_t buffer_index = 0;  // together with server_id: the identity of the memory
  uint32_t frame_id = 0;
  uint64_t timestamp_sof_ns = 0;
  uint64_t timestamp_eof_ns = 0;
  Nanoseconds receive_ns = 0;  // when this process took the notification
};

// One mapped buffer of a server, read-only. Immutable after construction; the mapping and the
// descriptor live as long as anybody holds it, also past a restart of the server.
class FrameBuffer {
 public:
  virtual ~FrameBuffer() = default;
  // The whole buffer, `layout().length` bytes; page aligned. The camera may write to it at any
  // time.
  virtual std::span<const std::byte> bytes() const = 0;
  virtual const Nv12Layout& layout() const = 0;
  // For import as dma-buf; -1 if there is none. Borrowed.
  virtual int fd() const = 0;
  // False once the file behind the mapping has become too short: touching bytes() would fault.
  virtual bool intact() const = 0;
  // The frame id the camera wrote behind the pixels after its last complete picture; all ones,
  // which is no frame's, where it cannot be read.
  virtual uint64_t trailing_frame_id() const = 0;
  // Reads of bytes() by the processor go between these two (ReadBracket): caches may have to be
  // told that a device wrote. Nothing to do for shared memory; may be nested.
  virtual Status begin_read() const { return {}; }
  virtual void end_read() const {}
};

// A frame to look at. Copyable; holding one keeps the memory mapped but does not stop the camera
// from overwriting it: ask FrameStream::check() before and after use.
struct Frame {
  FrameInfo info;
  std::shared_ptr<const FrameBuffer> buffer;

  const Nv12Layout& layout() const { return buffer->layout(); }
  std::span<const std::byte> pixels() const { return buffer->bytes(); }
};

enum class FrameCheck : uint8_t {
  kIntact,
  kOverwritten,  // the id behind the pixels is not this frame's
  kLapped,       // the camera may already be writing into this buffer again
  kUnreadable,   // the file behind the buffer has been cut short
};

// The torn-frame rule (architecture, section 7). The camera writes the id after the pixels, so an
// unchanged id only shows that no overwrite has *finished*; `newest_notified_id` (wrapping 32 bit)
// shows whether one may be under way: it has reached frame id + buffers - guard. With a single
// buffer nothing but the id can tell.
FrameCheck check_frame(const FrameInfo& info, uint64_t trailing_frame_id,
                       uint32_t newest_notified_id, uint32_t num_buffers, uint32_t guard);

struct StreamState {
  bool connected = false;
  uint64_t server_id = 0;
  uint32_t num_buffers = 0;
  Nv12Layout layout;      // of the first buffer
  uint64_t connects = 0;  // successful hand-shakes with a new server
  uint64_t failed_connects = 0;
  uint64_t notifications = 0;    // well-formed ones
  uint64_t bad_packets = 0;      // of a wrong size, or naming a buffer that does not exist
  uint64_t foreign_packets = 0;  // of a server we are not connected to
  uint64_t skipped = 0;          // older notifications passed over for a newer one
  std::string last_error;        // of the last failed hand-shake; empty while connected
};

// One camera stream. Used by one thread.
class FrameStream {
 public:
  virtual ~FrameStream() = default;

  // The next frame (conflating: the newest), waiting until `deadline` at most; nothing if none
  // came. Connects and reconnects on the way, with bounded back-off; no server is not an error but
  // a state (see state()). False early returns happen as with Transport::wait.
  virtual Result<std::optional<Frame>> receive(Deadline deadline) = 0;

  // Connects if disconnected and the back-off allows it; reads notifications that wait. Never
  // blocks for longer than one hand-shake. receive() calls it.
  virtual void maintain() = 0;

  // Whether `frame` may still be used, judged now, with the notifications that have arrived by now.
  // Call it before and after use (a copy, a device read). Frames of an earlier server are judged by
  // their trailing id alone, because nobody writes there any more.
  virtual FrameCheck check(const Frame& frame) = 0;
  bool is_torn(const Frame& frame) { return check(frame) != FrameCheck::kIntact; }

  // Frame id of the newest notification seen from the connected server.
  virtual std::optional<uint32_t> newest_notified_id() const = 0;

  // A snapshot; server_id changes when the server has restarted (drop imports then).
  virtual const StreamState& state() const = 0;
};

}  // namespace modeld::ipc
