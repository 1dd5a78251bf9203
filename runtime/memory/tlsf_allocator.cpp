#include "runtime/memory/tlsf_allocator.h"

#include <algorithm>
#include <bit>

#include "runtime/base/checked.h"

namespace modeld {

TlsfAllocator::TlsfAllocator(uint64_t capacity, uint64_t granule)
    : capacity_(capacity / granule * granule), granule_(granule) {
  heads_.fill(kNone);
  if (capacity_ == 0) return;
  const uint32_t whole = new_range();
  ranges_[whole].bytes = capacity_;
  enlist(whole);
}

unsigned TlsfAllocator::class_of(uint64_t bytes) const {
  const uint64_t units = bytes / granule_;
  if (units < kSecond) return static_cast<unsigned>(units);
  const auto log = static_cast<unsigned>(std::bit_width(units)) - 1;
  const auto second = static_cast<unsigned>(units >> (log - kSecondLog)) - kSecond;
  return (log - kSecondLog + 1) * kSecond + second;
}

unsigned TlsfAllocator::occupied_from(unsigned at) const {
  if (at >= kFirst * kSecond) return kFirst * kSecond;
  unsigned first = at / kSecond;
  const unsigned here = second_[first] & (~0u << at % kSecond);
  if (here != 0) return first * kSecond + static_cast<unsigned>(std::countr_zero(here));
  const uint64_t above = first_ & (~uint64_t{0} << (first + 1));
  if (above == 0) return kFirst * kSecond;
  first = static_cast<unsigned>(std::countr_zero(above));
  return first * kSecond + static_cast<unsigned>(std::countr_zero(second_[first]));
}

uint32_t TlsfAllocator::find(uint64_t bytes, uint64_t alignment) const {
  const auto holds = [&](const Range& range) {
    const auto start = checked_align_up(range.offset, alignment);
    return start && range_fits(*start - range.offset, bytes, range.bytes);
  };
  for (unsigned at = occupied_from(class_of(bytes)); at < kFirst * kSecond;
       at = occupied_from(at + 1)) {
    for (uint32_t id = heads_[at]; id != kNone; id = ranges_[id].next) {
      if (holds(ranges_[id])) return id;
    }
  }
  return kNone;
}

std::optional<uint64_t> TlsfAllocator::allocate(uint64_t bytes, uint64_t alignment) {
  if (!std::has_single_bit(alignment)) return std::nullopt;
  const auto rounded = checked_align_up(std::max<uint64_t>(bytes, 1), granule_);
  if (!rounded || *rounded > capacity_ - used_) return std::nullopt;
  uint32_t id = find(*rounded, std::max(alignment, granule_));
  if (id == kNone) return std::nullopt;
  // From here on only the host's memory can fail, and it is asked first.
  ranges_.reserve(ranges_.size() + 2);
  spare_.reserve(ranges_.size() + 2);
  const uint64_t start = align_up(ranges_[id].offset, std::max(alignment, granule_));
  in_use_.emplace(start, kNone);
  delist(id);
  if (const uint64_t skipped = start - ranges_[id].offset; skipped > 0) {
    const uint32_t rest = split(id, skipped);
    enlist(id);
    id = rest;
  }
  if (ranges_[id].bytes > *rounded) enlist(split(id, *rounded));
  in_use_[start] = id;
  used_ += *rounded;
  return start;
}

bool TlsfAllocator::release(uint64_t offset) {
  const auto found = in_use_.find(offset);
  if (found == in_use_.end()) return false;
  uint32_t id = found->second;
  in_use_.erase(found);
  used_ -= ranges_[id].bytes;
  if (const uint32_t after = ranges_[id].after; after != kNone && ranges_[after].free) {
    delist(after);
    absorb_after(id);
  }
  if (const uint32_t before = ranges_[id].before; before != kNone && ranges_[before].free) {
    delist(before);
    absorb_after(before);
    id = before;
  }
  enlist(id);
  return true;
}

uint64_t TlsfAllocator::longest_free() const {
  uint64_t longest = 0;
  for (unsigned at = occupied_from(0); at < kFirst * kSecond; at = occupied_from(at + 1)) {
    for (uint32_t id = heads_[at]; id != kNone; id = ranges_[id].next) {
      longest = std::max(longest, ranges_[id].bytes);
    }
  }
  return longest;
}

uint32_t TlsfAllocator::new_range() {
  if (!spare_.empty()) {
    const uint32_t id = spare_.back();
    spare_.pop_back();
    ranges_[id] = {};
    return id;
  }
  ranges_.emplace_back();
  return static_cast<uint32_t>(ranges_.size() - 1);
}

void TlsfAllocator::enlist(uint32_t id) {
  const unsigned at = class_of(ranges_[id].bytes);
  Range& range = ranges_[id];
  range.free = true;
  range.previous = kNone;
  range.next = heads_[at];
  if (range.next != kNone) ranges_[range.next].previous = id;
  heads_[at] = id;
  second_[at / kSecond] = static_cast<uint16_t>(second_[at / kSecond] | 1u << at % kSecond);
  first_ |= uint64_t{1} << at / kSecond;
  ++free_count_;
}

void TlsfAllocator::delist(uint32_t id) {
  Range& range = ranges_[id];
  const unsigned at = class_of(range.bytes);
  if (range.previous != kNone) ranges_[range.previous].next = range.next;
  if (range.next != kNone) ranges_[range.next].previous = range.previous;
  if (heads_[at] == id) heads_[at] = range.next;
  range.free = false;
  --free_count_;
  if (heads_[at] != kNone) return;
  second_[at / kSecond] = static_cast<uint16_t>(second_[at / kSecond] & ~(1u << at % kSecond));
  if (second_[at / kSecond] == 0) first_ &= ~(uint64_t{1} << at / kSecond);
}

uint32_t TlsfAllocator::split(uint32_t id, uint64_t bytes) {
  const uint32_t rest = new_range();
  Range& front = ranges_[id];
  Range& back = ranges_[rest];
  back.offset = front.offset + bytes;
  back.bytes = front.bytes - bytes;
  back.before = id;
  back.after = front.after;
  if (back.after != kNone) ranges_[back.after].before = rest;
  front.bytes = bytes;
  front.after = rest;
  return rest;
}

void TlsfAllocator::absorb_after(uint32_t id) {
  Range& range = ranges_[id];
  const uint32_t gone = range.after;
  range.bytes += ranges_[gone].bytes;
  range.after = ranges_[gone].after;
  if (range.after != kNone) ranges_[range.after].before = id;
  spare_.push_back(gone);
}

}  // namespace modeld
