// The sending end of one ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ipc/msgq/ring_view.h"
#include "runtime/base/result.h"

namespace modeld::ipc {

// Never waits for a reader: whoever is in the way is marked as lost and finds that out by itself.
// Used by one thread. A process killed at any instruction leaves a ring that the next writer can
// take over: nothing a reader may follow is stored before the message is whole.
class RingWriter {
 public:
  // `uid`: see make_ring_uid(). Does nothing yet.
  RingWriter(RingView ring, uint64_t uid) : ring_(ring), uid_(uid) {}

  // Makes this writer the ring's only one and has every reader register again. The write pointer is
  // kept, unless it points nowhere.
  void take_over();

  // kRefused if another writer has taken over, kInvalidArgument for an empty message or one that
  // does not fit three times.
  Status send(std::span<const std::byte> message);

  // Whether nobody has taken over since.
  bool is_current() const { return ring_.write_uid().load() == uid_; }

  // Gives the ring up, if it is still this writer's.
  void release();

  // Who is registered now, for waking; zeros are left out.
  struct Readers {
    std::array<uint64_t, kRingReaders> uids{};
    size_t count = 0;
  };
  Readers readers() const;

  // The largest message a ring with this much data can carry.
  static uint64_t largest_message(uint64_t data_bytes);

 private:
  RingPosition wrap(RingPosition at);
  template <typename Hit>
  void mark_lost(uint32_t cycle, Hit hit);

  RingView ring_;
  uint64_t uid_;
};

}  // namespace modeld::ipc
