#include "ipc/frames/vision_client.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ipc/frames/fd_socket.h"
#include "ipc/frames/mapped_buffer.h"
#include "ipc/transport/topics.h"

namespace modeld::ipc {
namespace {

constexpr Nanoseconds kFirstBackOff = 20 * kMillisecond;
constexpr Nanoseconds kLongestBackOff = 500 * kMillisecond;
constexpr Nanoseconds kHandshakeTime = 100 * kMillisecond;
// A camera at 20 Hz that is silent for this long may be gone.
constexpr Nanoseconds kSilence = kSecond;

}  // namespace

Result<std::vector<uint32_t>> list_streams(const std::filesystem::path& socket_path,
                                           const Clock& clock, Deadline deadline) {
  for (const uint32_t request : {kListRequest, kListRequestOld, kListRequestOldest}) {
    MODELD_ASSIGN(const FdPacket reply,
                  request_packet(socket_path, request, kMaxListedStreams * sizeof(uint32_t) + 1,
                                 clock, deadline));
    // An old server may know a stream by the number another one lists with: buffers come then.
    const bool is_list =
        reply.fds.empty() && !reply.bytes.empty() && reply.bytes.size() % sizeof(uint32_t) == 0;
    if (!is_list) continue;
    std::vector<uint32_t> types(reply.bytes.size() / sizeof(uint32_t));
    std::memcpy(types.data(), reply.bytes.data(), reply.bytes.size());
    return types;
  }
  return std::vector<uint32_t>();
}

Result<std::unique_ptr<VisionClient>> VisionClient::create(const Clock& clock, Transport& transport,
                                                           VisionClientOptions options) {
  MODELD_ASSIGN(auto path, vision_socket_path(options.socket_dir, options.prefix, options.server));
  MODELD_ASSIGN(auto subscriber,
                transport.subscriber(notification_topic(options.server, options.stream_type),
                                     SubscribeMode::kQueue));
  return std::unique_ptr<VisionClient>(new VisionClient(clock, transport, std::move(options),
                                                        std::move(path), std::move(subscriber)));
}

VisionClient::VisionClient(const Clock& clock, Transport& transport, VisionClientOptions options,
                           std::filesystem::path socket_path,
                           std::unique_ptr<Subscriber> subscriber)
    : clock_(clock),
      transport_(transport),
      options_(std::move(options)),
      socket_path_(std::move(socket_path)),
      subscriber_(std::move(subscriber)),
      back_off_(kFirstBackOff) {}

void VisionClient::maintain() {
  pump();
  const Nanoseconds now = clock_.monotonic();
  if (now < next_attempt_) return;
  if (!state_.connected || now - last_sign_ >= kSilence) connect();
}

Result<std::optional<Frame>> VisionClient::receive(Deadline deadline) {
  while (true) {
    maintain();
    if (auto frame = take()) return frame;
    if (deadline.passed(clock_)) return std::optional<Frame>();
    const Nanoseconds next_look =
        state_.connected ? std::max(last_sign_ + kSilence, next_attempt_) : next_attempt_;
    const Deadline until{std::min(deadline.at, next_look)};
    Subscriber* const subscribers[] = {subscriber_.get()};
    MODELD_ASSIGN(const bool arrived, transport_.wait(subscribers, until));
    const bool woken_by_signal = !arrived && !until.passed(clock_);
    if (woken_by_signal) return std::optional<Frame>();
  }
}

FrameCheck VisionClient::check(const Frame& frame) {
  if (!frame.buffer->intact()) return FrameCheck::kUnreadable;
  pump();
  const bool current = state_.connected && frame.info.server_id == state_.server_id;
  const uint32_t newest = current && newest_id_ ? *newest_id_ : frame.info.frame_id;
  return check_frame(frame.info, frame.buffer->trailing_frame_id(), newest,
                     current ? state_.num_buffers : static_cast<uint32_t>(kMaxBuffers),
                     options_.guard);
}

// Moves notifications from the transport to the pending ring. Bounded: a peer that floods the topic
// must not keep us here.
void VisionClient::pump() {
  for (size_t i = 0; i < 2 * kMaxPending; ++i) {
    const auto received = subscriber_->receive();
    if (!received.ok() || !*received) return;
    const auto notification = decode_notification(**received);
    if (!notification) {
      ++state_.bad_packets;
      continue;
    }
    ++state_.notifications;
    note(*notification);
    // Somebody notifies, so a server lives: no reason to wait out a long back-off.
    if (!state_.connected) {
      next_attempt_ = std::min(next_attempt_, clock_.monotonic() + kFirstBackOff);
    }
    if (pending_count_ == kMaxPending) {
      pending_head_ = (pending_head_ + 1) % kMaxPending;
      --pending_count_;
      ++state_.skipped;
    }
    pending_[(pending_head_ + pending_count_) % kMaxPending] = {*notification, clock_.monotonic()};
    ++pending_count_;
  }
}

void VisionClient::note(const Notification& notification) {
  if (!state_.connected || notification.server_id != state_.server_id) return;
  newest_id_ = notification.frame_id;
  last_sign_ = clock_.monotonic();
}

void VisionClient::connect() {
  auto status = shake_hands();
  const Nanoseconds now = clock_.monotonic();
  if (!status.ok()) {
    ++state_.failed_connects;
    disconnect(to_string(status.error()));
    next_attempt_ = now + back_off_;
    back_off_ = std::min(back_off_ * 2, kLongestBackOff);
    return;
  }
  state_.last_error.clear();
  last_sign_ = now;
  back_off_ = kFirstBackOff;
  next_attempt_ = now + back_off_;
}

Status VisionClient::shake_hands() {
  const size_t max_bytes = kMaxBuffers * record_bytes(RecordFormat::kOlder);
  MODELD_ASSIGN(FdPacket reply, request_packet(socket_path_, options_.stream_type, max_bytes,
                                               clock_, Deadline::after(clock_, kHandshakeTime)));
  if (reply.bytes.empty()) {
    return Error(ErrorCode::kNotFound,
                 "the frame server closed without an answer: it has no "
                 "stream " +
                     std::to_string(options_.stream_type) + ", or is shutting down")
        .in(socket_path_.string());
  }
  auto records = decode_records(reply.bytes, reply.fds.size(), options_.stream_type);
  if (!records.ok()) return std::move(records).error().in(socket_path_.string());
  // The same server again: what is mapped stays, and with it whatever was imported from it.
  if (state_.connected && records->front().server_id == state_.server_id) return {};
  auto status = adopt(*records, std::move(reply.fds));
  if (!status.ok()) return std::move(status).error().in(socket_path_.string());
  return {};
}

Status VisionClient::adopt(const std::vector<BufferRecord>& records, std::vector<UniqueFd> fds) {
  std::vector<std::shared_ptr<const FrameBuffer>> buffers;
  for (size_t i = 0; i < records.size(); ++i) {
    auto buffer = MappedBuffer::map(records[i], std::move(fds[i]));
    if (!buffer.ok()) return std::move(buffer).error().in("buffer " + std::to_string(i));
    buffers.push_back(*std::move(buffer));
  }
  buffers_ = std::move(buffers);
  state_.connected = true;
  state_.server_id = records.front().server_id;
  state_.num_buffers = static_cast<uint32_t>(records.size());
  state_.layout = records.front().layout;
  ++state_.connects;
  newest_id_.reset();
  for (size_t i = 0; i < pending_count_; ++i) {
    note(pending_[(pending_head_ + i) % kMaxPending].notification);
  }
  return {};
}

void VisionClient::disconnect(std::string reason) {
  buffers_.clear();
  newest_id_.reset();
  state_.connected = false;
  state_.last_error = std::move(reason);
}

// A notification that does not fit what we are connected to: has the server been restarted? Asked
// no more often than the back-off allows, so that stray packets cost nothing.
void VisionClient::recheck_server() {
  if (clock_.monotonic() >= next_attempt_) connect();
}

std::optional<VisionClient::Pending> VisionClient::pop_pending() {
  if (pending_count_ == 0) return std::nullopt;
  const Pending pending = pending_[pending_head_];
  pending_head_ = (pending_head_ + 1) % kMaxPending;
  --pending_count_;
  return pending;
}

std::optional<Frame> VisionClient::take() {
  const size_t may_wait = late_in_a_row_ < kMostLate ? options_.late_frames : 0;
  std::optional<Frame> frame;
  while (frame == std::nullopt || (options_.conflate && pending_count_ > may_wait)) {
    const auto pending = pop_pending();
    if (!pending) break;
    auto next = frame_of(*pending);
    if (!next) continue;
    if (frame) ++state_.skipped;
    frame = std::move(next);
  }
  if (frame) late_in_a_row_ = pending_count_ == 0 ? 0 : late_in_a_row_ + 1;
  return frame;
}

std::optional<Frame> VisionClient::frame_of(const Pending& pending) {
  const Notification& notification = pending.notification;
  if (!state_.connected || notification.server_id != state_.server_id) {
    recheck_server();
    if (!state_.connected || notification.server_id != state_.server_id) {
      ++state_.foreign_packets;
      return std::nullopt;
    }
  }
  if (notification.index >= buffers_.size()) {
    ++state_.bad_packets;
    return std::nullopt;
  }
  const auto& buffer = buffers_[notification.index];
  if (!buffer->intact()) {
    disconnect("a frame buffer has been cut short");
    return std::nullopt;
  }
  return Frame{
      {notification.server_id, static_cast<uint32_t>(notification.index), notification.frame_id,
       notification.timestamp_sof_ns, notification.timestamp_eof_ns, pending.receive_ns},
      buffer};
}

}  // namespace modeld::ipc
