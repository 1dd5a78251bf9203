#include "ipc/msgq/ring_reader.h"

#include <algorithm>
#include <utility>

namespace modeld::ipc {
namespace {

// Registrations that others undo at once, before giving up until the next call.
constexpr int kMaxAttempts = 8;

}  // namespace

RingReader::RingReader(RingView ring, uint64_t uid, bool conflate,
                       std::function<void(uint64_t)> wake)
    : ring_(ring), uid_(uid), conflate_(conflate), wake_(std::move(wake)) {}

void RingReader::evict_all() {
  ring_.num_readers().store(0);
  for (size_t slot = 0; slot < kRingReaders; ++slot) {
    ring_.read_valid(slot).store(0);
    const uint64_t owner = ring_.read_uid(slot).exchange(0);
    if (owner != 0 && wake_) wake_(owner);
  }
}

// One that a reader of ours has left. (A newcomer of another make that has counted itself in and is
// about to write its uid takes it back; then we try again.)
bool RingReader::take_abandoned_slot() {
  for (size_t slot = 0; slot < kRingReaders; ++slot) {
    uint64_t nobody = 0;
    if (!ring_.read_uid(slot).compare_exchange_strong(nobody, uid_)) continue;
    slot_ = slot;
    return true;
  }
  return false;
}

bool RingReader::take_slot() {
  uint64_t count = ring_.num_readers().load();
  for (int i = 0; i < kMaxAttempts; ++i) {
    if (count >= kRingReaders) {
      if (count == kRingReaders && take_abandoned_slot()) return true;
      evict_all();
      count = ring_.num_readers().load();
    } else if (ring_.num_readers().compare_exchange_strong(count, count + 1)) {
      slot_ = count;
      return true;
    }
  }
  return false;
}

void RingReader::enter() {
  slot_ = kRingReaders;
  if (!take_slot()) return;
  ++counts_.registrations;
  ring_.read_valid(slot_).store(0);
  ring_.read_pointer(slot_).store(0);
  ring_.read_uid(slot_).store(uid_);
  reset();
}

void RingReader::leave() {
  if (slot_ == kRingReaders) return;
  uint64_t own = uid_;
  // Publishers may wait for valid readers to catch up; nobody catches up here.
  if (ring_.read_uid(slot_).load() == own) ring_.read_valid(slot_).store(0);
  ring_.read_uid(slot_).compare_exchange_strong(own, 0);
  slot_ = kRingReaders;
}

// Forgets the backlog and stands where the writer stands.
void RingReader::reset() {
  ring_.read_valid(slot_).store(1);
  for (int i = 0; i < kMaxAttempts; ++i) {
    const uint64_t write = ring_.write_pointer().load();
    move_to(RingPosition::unpack(write));
    if (ring_.write_pointer().load() == write) return;
  }
}

void RingReader::move_to(RingPosition position) {
  position_ = position;
  ring_.read_pointer(slot_).store(position.pack());
}

// A slot beyond the count, or one that holds what we did not store, is not looked after by the
// writer any more.
bool RingReader::holds_slot() const {
  return slot_ < ring_.readers() && ring_.read_uid(slot_).load() == uid_ &&
         ring_.read_pointer(slot_).load() == position_.pack();
}

// Registered, not lost, and not in an impossible place; false if others do not let us.
bool RingReader::settle() {
  for (int i = 0; i < kMaxAttempts; ++i) {
    if (!holds_slot()) {
      enter();
    } else if (ring_.read_valid(slot_).load() == 0) {
      ++counts_.lapped;
      reset();
    } else {
      return true;
    }
  }
  return false;
}

bool RingReader::ready() {
  if (!settle()) return false;
  return position_.offset != RingPosition::unpack(ring_.write_pointer().load()).offset;
}

void RingReader::set_uid(uint64_t uid) {
  if (slot_ < kRingReaders) {
    uint64_t own = uid_;
    ring_.read_uid(slot_).compare_exchange_strong(own, uid);
  }
  uid_ = uid;
}

// Whether the writer has looked after our slot up to now and, as far as it says, not come round to
// `position` again.
bool RingReader::still_safe(RingPosition position) const {
  if (!holds_slot() || ring_.read_valid(slot_).load() == 0) return false;
  const auto write = RingPosition::unpack(ring_.write_pointer().load());
  if (write.cycle == position.cycle) return position.offset < write.offset;
  return write.cycle == position.cycle + 1 && position.offset >= write.offset;
}

uint64_t* RingReader::room_for(size_t size) {
  const size_t words = (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
  if (words > buffer_words_) {
    buffer_words_ = std::max(words, 2 * buffer_words_);
    buffer_ = std::make_unique<uint64_t[]>(buffer_words_);
  }
  return buffer_.get();
}

std::optional<std::span<const std::byte>> RingReader::receive() {
  // The smallest message takes two words; a writer that keeps moving must not keep us for ever.
  const uint64_t most_steps = ring_.data_bytes() / (2 * sizeof(uint64_t)) + 2 * kMaxAttempts;
  for (uint64_t step = 0; step < most_steps; ++step) {
    if (!settle()) return std::nullopt;
    const RingPosition at = position_;
    const auto write = RingPosition::unpack(ring_.write_pointer().load());
    if (at.offset == write.offset) return std::nullopt;
    if (!ring_.holds(at) || !ring_.holds(write)) {
      ++counts_.rejected;
      reset();
      continue;
    }
    const int64_t size = ring_.load_size(at.offset);
    if (ring_.read_valid(slot_).load() == 0) continue;
    if (size == kWrapMarker) {
      move_to({at.cycle + 1, 0});
      continue;
    }
    // Also keeps the sum below from wrapping.
    const bool possible = size > 0 && static_cast<uint64_t>(size) < ring_.data_bytes() &&
                          at.offset + ring_span(static_cast<uint64_t>(size)) <= ring_.data_bytes();
    if (!possible) {
      ++counts_.rejected;
      reset();
      continue;
    }
    const auto bytes = static_cast<size_t>(size);
    const RingPosition next{at.cycle, static_cast<uint32_t>(at.offset + ring_span(bytes))};
    if (conflate_ && next.offset != write.offset) {
      ++counts_.skipped;
      move_to(next);
      continue;
    }
    uint64_t* words = room_for(bytes);
    ring_.load_payload(at.offset, bytes, words);
    move_to(next);
    if (still_safe(at)) return std::span(reinterpret_cast<const std::byte*>(words), bytes);
    // What was copied may be of two messages.
    if (holds_slot()) {
      ++counts_.lapped;
      reset();
    }
  }
  return std::nullopt;
}

}  // namespace modeld::ipc
