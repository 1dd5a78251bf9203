// The receiving end of one ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "ipc/msgq/ring_view.h"

namespace modeld::ipc {

// What a reader has met. Counts since it was made.
struct RingReaderCounts {
  uint64_t lapped = 0;         // times the writer passed it; its backlog was lost
  uint64_t rejected = 0;       // times the ring said something impossible
  uint64_t skipped = 0;        // messages passed over for a newer one (conflating)
  uint64_t registrations = 0;  // the first one, and one per new writer or eviction
};

// Trusts nothing in the ring: sizes and positions are checked, walks are bounded, and a message is
// given out only if its place was still safe after it had been copied. Used by one thread.
class RingReader {
 public:
  // `wake` is called with the uids of readers this one evicts (all fifteen, when it is the
  // sixteenth). Does not register yet.
  RingReader(RingView ring, uint64_t uid, bool conflate, std::function<void(uint64_t)> wake);

  // Gives its slot up: nobody signals it any more, and the next newcomer may have it.
  void leave();

  // Takes a slot; from here on messages are seen. Whoever has lost its slot does this by itself at
  // the next ready() or receive().
  void enter();

  // Whether a message seems to wait.
  bool ready();

  // The next message (conflating: the newest), copied; 8-byte aligned and good until the next call.
  std::optional<std::span<const std::byte>> receive();

  // To be called by the thread that waits, so that it is the one that gets woken.
  void set_uid(uint64_t uid);
  uint64_t uid() const { return uid_; }
  const RingReaderCounts& counts() const { return counts_; }

 private:
  bool holds_slot() const;
  bool take_slot();
  bool take_abandoned_slot();
  void evict_all();
  void reset();
  bool settle();
  void move_to(RingPosition position);
  bool still_safe(RingPosition position) const;
  uint64_t* room_for(size_t size);

  RingView ring_;
  uint64_t uid_;
  const bool conflate_;
  const std::function<void(uint64_t)> wake_;
  size_t slot_ = kRingReaders;  // none
  // Our own copy: a confused peer may store into our slot.
  RingPosition position_;
  RingReaderCounts counts_;
  std::unique_ptr<uint64_t[]> buffer_;
  size_t buffer_words_ = 0;
};

}  // namespace modeld::ipc
