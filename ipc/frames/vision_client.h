// The client end of openpilot's frame-buffer protocol (facts section 1): hand-shake over a unix
// socket, buffers by descriptor, notifications over a topic.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/frames/frame_source.h"
#include "ipc/frames/vision_protocol.h"
#include "ipc/transport/transport.h"
#include "runtime/base/unique_fd.h"

namespace modeld::ipc {

struct VisionClientOptions {
  std::filesystem::path socket_dir = "/tmp";
  std::string prefix;  // see openpilot_prefix()
  std::string server = "camerad";
  uint32_t stream_type = kNarrowRoadStream;
  bool conflate = true;  // receive() gives the newest frame, not the next
  // Conflating: this many frames older than the newest are given before it, at most kMostLate in a
  // row. After a short stall nothing is lost; a reader that is too slow gets the newest.
  uint32_t late_frames = 0;
  uint32_t guard = 1;  // of the torn-frame rule
};

// Stream types a server offers, asking the ways of all its generations in turn. kNotFound if nobody
// serves the path; an empty list if the server is there but understands no list request.
Result<std::vector<uint32_t>> list_streams(const std::filesystem::path& socket_path,
                                           const Clock& clock, Deadline deadline);

// A FrameStream on a real server. Notifications are taken from the transport without conflation
// there, so that the newest notified id is known and passed-over frames are counted. Steady state:
// no allocation. While disconnected it tries again after 20 ms, doubling up to 500 ms (or at once
// when notifications arrive); after one second without a notification it asks whether the server is
// still the same. A hand-shake takes at most 100 ms; receive() may be late by one.
class VisionClient final : public FrameStream {
 public:
  // Subscribes (before any hand-shake, so that no notification is missed); connects later.
  static Result<std::unique_ptr<VisionClient>> create(const Clock& clock, Transport& transport,
                                                      VisionClientOptions options);

  Result<std::optional<Frame>> receive(Deadline deadline) override;
  void maintain() override;
  FrameCheck check(const Frame& frame) override;
  std::optional<uint32_t> newest_notified_id() const override { return newest_id_; }
  const StreamState& state() const override { return state_; }

 private:
  struct Pending {
    Notification notification;
    Nanoseconds receive_ns = 0;
  };
  static constexpr uint32_t kMostLate = 4;
  // As many notifications as any server has buffers: older ones are overwritten anyway.
  static constexpr size_t kMaxPending = kMaxBuffers;

  VisionClient(const Clock& clock, Transport& transport, VisionClientOptions options,
               std::filesystem::path socket_path, std::unique_ptr<Subscriber> subscriber);

  void pump();
  void note(const Notification& notification);
  void connect();
  Status shake_hands();
  Status adopt(const std::vector<BufferRecord>& records, std::vector<UniqueFd> fds);
  void disconnect(std::string reason);
  void recheck_server();
  std::optional<Pending> pop_pending();
  std::optional<Frame> take();
  std::optional<Frame> frame_of(const Pending& pending);

  const Clock& clock_;
  Transport& transport_;
  const VisionClientOptions options_;
  const std::filesystem::path socket_path_;
  const std::unique_ptr<Subscriber> subscriber_;

  StreamState state_;
  std::vector<std::shared_ptr<const FrameBuffer>> buffers_;
  std::optional<uint32_t> newest_id_;
  std::array<Pending, kMaxPending> pending_;  // a ring
  size_t pending_head_ = 0;
  size_t pending_count_ = 0;
  uint32_t late_in_a_row_ = 0;

  Nanoseconds back_off_;
  Nanoseconds next_attempt_ = 0;  // monotonic
  Nanoseconds last_sign_ = 0;     // monotonic; last notification or hand-shake
};

}  // namespace modeld::ipc
