// Hands out ranges of a space that is none of its business: device memory as well as the host's.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

namespace modeld {

// Two-level segregated fit (Masmano, Ripoll, Crespo and Real: "TLSF: a new dynamic memory allocator
// for real-time systems", ECRTS 2004) over offsets in [0, capacity). All bookkeeping lies outside
// the space. Starts and lengths of ranges are multiples of the granule; what it wastes at the end
// of a range is counted as used. Unlike the paper's, a request is refused only if no free range
// holds it: where no class is certain to fit, the ranges that may fit are looked at one by one.
// Allocates host memory for its books. Not thread-safe.
class TlsfAllocator {
 public:
  // `granule`: a power of two. A capacity that is no multiple of it is rounded down.
  TlsfAllocator(uint64_t capacity, uint64_t granule);

  // Start of a range of at least `bytes` (0 counts as 1) at a multiple of `alignment`, a power of
  // two; nothing if no free range holds it, or if the numbers make no sense.
  std::optional<uint64_t> allocate(uint64_t bytes, uint64_t alignment);
  // `offset` is what allocate() answered; false if no range in use starts there.
  bool release(uint64_t offset);

  uint64_t capacity() const { return capacity_; }
  uint64_t granule() const { return granule_; }
  uint64_t used() const { return used_; }
  bool empty() const { return used_ == 0; }
  // Bytes of the longest free range; walks all of them.
  uint64_t longest_free() const;
  // Free ranges; 1 in an empty space, for neighbours are merged.
  size_t free_ranges() const { return free_count_; }

 private:
  static constexpr unsigned kSecondLog = 4;
  static constexpr unsigned kSecond = 1u << kSecondLog;
  static constexpr unsigned kFirst = 64 - kSecondLog + 1;
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // A range, free or in use. Neighbours are those in space; the list is that of its class.
  struct Range {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint32_t before = kNone;
    uint32_t after = kNone;
    uint32_t previous = kNone;
    uint32_t next = kNone;
    bool free = false;
  };

  // Classes count in granules: below kSecond one for each number, then kSecond per power of two.
  unsigned class_of(uint64_t bytes) const;
  // The first class at or above `at` that has a range; kFirst * kSecond if none.
  unsigned occupied_from(unsigned at) const;
  uint32_t find(uint64_t bytes, uint64_t alignment) const;
  uint32_t new_range();
  void enlist(uint32_t id);
  void delist(uint32_t id);
  // Cuts `bytes` off the front of `id`; the rest is a new range behind it, in no list.
  uint32_t split(uint32_t id, uint64_t bytes);
  // Joins `id` with the range after it, which disappears; neither is in a list.
  void absorb_after(uint32_t id);

  uint64_t capacity_;
  uint64_t granule_;
  uint64_t used_ = 0;
  size_t free_count_ = 0;
  std::vector<Range> ranges_;
  std::vector<uint32_t> spare_;  // places in ranges_ that are vacant
  std::unordered_map<uint64_t, uint32_t> in_use_;
  std::array<uint32_t, kFirst * kSecond> heads_;
  std::array<uint16_t, kFirst> second_{};
  uint64_t first_ = 0;
};

}  // namespace modeld
