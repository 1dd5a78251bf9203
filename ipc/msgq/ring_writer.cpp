#include "ipc/msgq/ring_writer.h"

#include <string>

namespace modeld::ipc {

uint64_t RingWriter::largest_message(uint64_t data_bytes) {
  const uint64_t span = data_bytes / 3 / sizeof(uint64_t) * sizeof(uint64_t);
  return span <= sizeof(uint64_t) ? 0 : span - sizeof(uint64_t);
}

void RingWriter::take_over() {
  ring_.write_uid().store(uid_);
  ring_.num_readers().store(0);
  for (size_t slot = 0; slot < kRingReaders; ++slot) {
    ring_.read_valid(slot).store(0);
    ring_.read_uid(slot).store(0);
  }
  const auto at = RingPosition::unpack(ring_.write_pointer().load());
  if (!ring_.holds(at)) ring_.write_pointer().store(RingPosition{at.cycle + 1, 0}.pack());
}

// Readers of an earlier cycle that stand where `hit` says will find something else there.
template <typename Hit>
void RingWriter::mark_lost(uint32_t cycle, Hit hit) {
  const size_t count = ring_.readers();
  for (size_t slot = 0; slot < count; ++slot) {
    const auto at = RingPosition::unpack(ring_.read_pointer(slot).load());
    if (at.cycle != cycle && hit(at.offset)) ring_.read_valid(slot).store(0);
  }
}

RingPosition RingWriter::wrap(RingPosition at) {
  ring_.store_size(at.offset, kWrapMarker);
  mark_lost(at.cycle, [&](uint32_t offset) { return offset > at.offset; });
  const RingPosition start{at.cycle + 1, 0};
  ring_.write_pointer().store(start.pack());
  return start;
}

Status RingWriter::send(std::span<const std::byte> message) {
  if (!is_current()) {
    return Error(ErrorCode::kRefused, "another publisher has taken the topic over");
  }
  const uint64_t total = ring_span(message.size());
  if (message.empty() || total > ring_.data_bytes() / 3) {
    return Error(ErrorCode::kInvalidArgument, "message that does not fit the topic's ring")
        .expecting("1 to " + std::to_string(largest_message(ring_.data_bytes())) + " bytes",
                   std::to_string(message.size()));
  }
  auto at = RingPosition::unpack(ring_.write_pointer().load());
  if (!ring_.holds(at)) {
    return Error(ErrorCode::kCorrupt, "the ring's write pointer has been damaged")
        .expecting("less than " + std::to_string(ring_.data_bytes()), std::to_string(at.offset));
  }
  // A wrap marker must still fit behind the message.
  if (ring_.data_bytes() - at.offset <= total + sizeof(uint64_t)) at = wrap(at);
  mark_lost(at.cycle,
            [&](uint32_t offset) { return offset >= at.offset && offset < at.offset + total; });
  ring_.store_size(at.offset, static_cast<int64_t>(message.size()));
  ring_.store_payload(at.offset, message);
  ring_.write_pointer().store(
      RingPosition{at.cycle, static_cast<uint32_t>(at.offset + total)}.pack());
  return {};
}

void RingWriter::release() {
  uint64_t own = uid_;
  ring_.write_uid().compare_exchange_strong(own, 0);
}

RingWriter::Readers RingWriter::readers() const {
  Readers found;
  const size_t count = ring_.readers();
  for (size_t slot = 0; slot < count; ++slot) {
    const uint64_t uid = ring_.read_uid(slot).load();
    if (uid != 0) found.uids[found.count++] = uid;
  }
  return found;
}

}  // namespace modeld::ipc
