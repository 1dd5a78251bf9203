#include "runtime/memory/tlsf_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace modeld {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

// The same promises kept the slow way: a sorted list of what is in use.
class Model {
 public:
  Model(uint64_t capacity, uint64_t granule) : capacity_(capacity), granule_(granule) {}

  uint64_t rounded(uint64_t bytes) const {
    return (std::max<uint64_t>(bytes, 1) + granule_ - 1) / granule_ * granule_;
  }

  // True if some gap holds the request.
  bool holds(uint64_t bytes, uint64_t alignment) const {
    const uint64_t step = std::max(alignment, granule_);
    uint64_t from = 0;
    for (const auto& [start, length] : used_) {
      const uint64_t at = (from + step - 1) / step * step;
      if (at + rounded(bytes) <= start) return true;
      from = start + length;
    }
    return (from + step - 1) / step * step + rounded(bytes) <= capacity_;
  }

  // False if the range is outside or touches one in use.
  bool add(uint64_t start, uint64_t bytes) {
    const uint64_t length = rounded(bytes);
    if (start + length > capacity_) return false;
    const auto after = used_.lower_bound(start);
    if (after != used_.end() && start + length > after->first) return false;
    if (after != used_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second > start) return false;
    }
    used_[start] = length;
    total_ += length;
    return true;
  }

  void remove(uint64_t start) {
    total_ -= used_.at(start);
    used_.erase(start);
  }

  size_t gaps() const {
    size_t gaps = 0;
    uint64_t from = 0;
    for (const auto& [start, length] : used_) {
      gaps += start > from ? 1 : 0;
      from = start + length;
    }
    return gaps + (from < capacity_ ? 1 : 0);
  }

  uint64_t longest_gap() const {
    uint64_t longest = 0;
    uint64_t from = 0;
    for (const auto& [start, length] : used_) {
      longest = std::max(longest, start - from);
      from = start + length;
    }
    return std::max(longest, capacity_ - from);
  }

  uint64_t total() const { return total_; }
  const std::map<uint64_t, uint64_t>& used() const { return used_; }

 private:
  uint64_t capacity_;
  uint64_t granule_;
  uint64_t total_ = 0;
  std::map<uint64_t, uint64_t> used_;
};

TEST(TlsfAllocator, RandomSequencesKeepEveryPromise) {
  uint64_t refused = 0;
  uint64_t given = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const uint64_t granule = uint64_t{1} << random() % 9;
    const uint64_t capacity = (1 + random() % 4000) * granule;
    TlsfAllocator allocator(capacity, granule);
    Model model(capacity, granule);
    for (int step = 0; step < 800; ++step) {
      if (random() % 5 < 3 || model.used().empty()) {
        const uint64_t bytes = random() % (uint64_t{1} << (random() % 12)) * (granule / 2 + 1);
        const uint64_t alignment = uint64_t{1} << random() % 13;
        const bool holds = model.holds(bytes, alignment);
        const auto at = allocator.allocate(bytes, alignment);
        ASSERT_EQ(at.has_value(), holds) << "seed " << seed << ", step " << step;
        ++(at ? given : refused);
        if (!at) continue;
        ASSERT_EQ(*at % alignment, 0u);
        ASSERT_EQ(*at % granule, 0u);
        ASSERT_TRUE(model.add(*at, bytes)) << "seed " << seed << ", step " << step;
      } else {
        const auto which = std::next(model.used().begin(),
                                     static_cast<std::ptrdiff_t>(random() % model.used().size()));
        const uint64_t start = which->first;
        ASSERT_TRUE(allocator.release(start));
        model.remove(start);
        ASSERT_FALSE(allocator.release(start)) << "given back twice";
      }
      ASSERT_EQ(allocator.used(), model.total());
      ASSERT_EQ(allocator.free_ranges(), model.gaps()) << "neighbours merge";
      ASSERT_EQ(allocator.longest_free(), model.longest_gap());
    }
    while (!model.used().empty()) {
      ASSERT_TRUE(allocator.release(model.used().begin()->first));
      model.remove(model.used().begin()->first);
    }
    EXPECT_TRUE(allocator.empty());
    EXPECT_EQ(allocator.free_ranges(), 1u);
    EXPECT_EQ(allocator.allocate(capacity, 1), 0u) << "all of it again";
  }
  EXPECT_GT(given, 1000u);
  EXPECT_GT(refused, 1000u);
}

// facts, source-contracts 3: a bump allocator of 16 bytes handed out 32, and a "block size" of 16
// was taken for an alignment.
TEST(TlsfAllocator, AlignmentIsWhatWasAskedFor) {
  TlsfAllocator allocator(128, 16);
  EXPECT_EQ(allocator.allocate(20, 16), 0u);
  EXPECT_EQ(allocator.allocate(35, 16), 32u);
  EXPECT_EQ(allocator.used(), 32u + 48u);
  EXPECT_EQ(allocator.allocate(16, 64), std::nullopt) << "64 is in use, 128 is the end";
  EXPECT_EQ(allocator.allocate(48, 16), 80u);
}

TEST(TlsfAllocator, RefusesWhatIsAboveCapacityOrWraps) {
  TlsfAllocator allocator(4096, 256);
  for (const uint64_t bytes : {uint64_t{4097}, kMost, kMost - 255, kMost - 4095, kMost / 2 + 1}) {
    EXPECT_EQ(allocator.allocate(bytes, 1), std::nullopt) << bytes;
    EXPECT_EQ(allocator.allocate(bytes, uint64_t{1} << 63), std::nullopt) << bytes;
  }
  EXPECT_EQ(allocator.allocate(16, 0), std::nullopt) << "no alignment";
  EXPECT_EQ(allocator.allocate(16, 24), std::nullopt) << "no power of two";
  EXPECT_EQ(allocator.allocate(4096, uint64_t{1} << 63), 0u) << "0 is a multiple of everything";
  EXPECT_EQ(allocator.allocate(1, 1), std::nullopt);
  EXPECT_FALSE(allocator.release(256)) << "inside a range is not its start";
  EXPECT_TRUE(allocator.release(0));
  EXPECT_TRUE(allocator.empty());
}

TEST(TlsfAllocator, WorksOverTheWholeAddressSpace) {
  TlsfAllocator allocator(kMost, 1);
  EXPECT_EQ(allocator.longest_free(), kMost);
  const auto first = allocator.allocate(kMost - 10, 1);
  ASSERT_EQ(first, 0u);
  EXPECT_EQ(allocator.allocate(11, 1), std::nullopt);
  EXPECT_EQ(allocator.allocate(10, 1), kMost - 10);
  EXPECT_EQ(allocator.allocate(0, 1), std::nullopt) << "0 bytes count as 1";
}

TEST(TlsfAllocator, ASpaceBelowOneGranuleHoldsNothing) {
  TlsfAllocator allocator(255, 256);
  EXPECT_EQ(allocator.capacity(), 0u);
  EXPECT_EQ(allocator.allocate(0, 1), std::nullopt);
}

}  // namespace
}  // namespace modeld
