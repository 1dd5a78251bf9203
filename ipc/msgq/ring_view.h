// The memory of openpilot's shared-memory ring: 48 header words and a data area (facts 2.2). Other
// processes write to it at any moment, so every access is an atomic of one 64-bit word: what comes
// out may be of two messages, but it is never undefined, and the order of words is kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/result.h"

namespace modeld::ipc {

constexpr size_t kRingReaders = 15;
constexpr size_t kRingHeaderBytes = (3 + 3 * kRingReaders) * sizeof(uint64_t);
static_assert(kRingHeaderBytes == 384);
// The size that says "go on at offset 0 of the next cycle".
constexpr int64_t kWrapMarker = -1;

// A place in the data area and how often the writer had been round when it was there.
struct RingPosition {
  uint32_t cycle = 0;
  uint32_t offset = 0;  // bytes from the start of the data area

  static RingPosition unpack(uint64_t word) {
    return {static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word)};
  }
  uint64_t pack() const { return uint64_t{cycle} << 32 | offset; }
  bool operator==(const RingPosition&) const = default;
};

// Bytes a message of `size` bytes takes in the ring, its size word included.
constexpr uint64_t ring_span(uint64_t size) {
  return (size + 2 * sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

// Borrows the memory; a plain value. Safe to use from any number of threads and processes.
class RingView {
 public:
  // `memory`: header and data, 8-byte aligned; the data a multiple of 8 and less than 4 GiB.
  static Result<RingView> over(std::span<std::byte> memory);

  uint64_t data_bytes() const { return data_bytes_; }

  std::atomic_ref<uint64_t> num_readers() const { return word(0); }
  std::atomic_ref<uint64_t> write_pointer() const { return word(1); }
  std::atomic_ref<uint64_t> write_uid() const { return word(2); }
  std::atomic_ref<uint64_t> read_pointer(size_t slot) const { return word(3 + slot); }
  std::atomic_ref<uint64_t> read_valid(size_t slot) const { return word(3 + kRingReaders + slot); }
  std::atomic_ref<uint64_t> read_uid(size_t slot) const {
    return word(3 + 2 * kRingReaders + slot);
  }

  // Readers the header names, as many as there are slots for.
  size_t readers() const;
  // Whether a size word can stand at `position`.
  bool holds(RingPosition position) const {
    return position.offset % sizeof(uint64_t) == 0 &&
           position.offset + sizeof(uint64_t) <= data_bytes_;
  }

  // The size word of a message. `offset` must be held.
  int64_t load_size(uint32_t offset) const;
  void store_size(uint32_t offset, int64_t size) const;
  // The bytes behind the size word at `offset`, which must lie inside the data area. `words` has
  // room for `size` rounded up to whole words.
  void load_payload(uint32_t offset, size_t size, uint64_t* words) const;
  void store_payload(uint32_t offset, std::span<const std::byte> payload) const;

 private:
  RingView(uint64_t* words, uint64_t data_bytes) : words_(words), data_bytes_(data_bytes) {}
  std::atomic_ref<uint64_t> word(size_t index) const {
    return std::atomic_ref<uint64_t>(words_[index]);
  }
  uint64_t* data(uint32_t offset) const {
    return words_ + (kRingHeaderBytes + offset) / sizeof(uint64_t);
  }

  uint64_t* words_;
  uint64_t data_bytes_;
};

}  // namespace modeld::ipc
