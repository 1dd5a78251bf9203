#include "runtime/program/memory_plan.h"

#include <gtest/gtest.h>

#include "runtime/program/seeded_inputs.h"
#include "tests/support/program_builder.h"

namespace modeld {
namespace {

bool alive_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::vector<Lifetime> random_lifetimes(SplitMix64& random, size_t count) {
  std::vector<Lifetime> lifetimes;
  for (size_t i = 0; i < count; ++i) {
    const auto first = static_cast<uint32_t>(random.next() % 60);
    const auto length = static_cast<uint32_t>(random.next() % 12);
    // Some empty, some odd sizes, some equal ones.
    const uint64_t bytes = random.next() % 8 == 0 ? 0 : random.next() % 3000;
    lifetimes.push_back({bytes, first, first + length});
  }
  return lifetimes;
}

// The most bytes alive at one step: no plan can need less.
uint64_t peak(const std::vector<Lifetime>& lifetimes) {
  uint64_t most = 0;
  for (uint32_t step = 0; step < 80; ++step) {
    uint64_t alive = 0;
    for (const Lifetime& one : lifetimes) {
      if (one.first <= step && step <= one.last) alive += one.bytes;
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(MemoryPlan, LiveBuffersNeverOverlap) {
  SplitMix64 random(7);
  for (int round = 0; round < 200; ++round) {
    const uint64_t alignment = uint64_t{1} << (random.next() % 10);
    const auto lifetimes = random_lifetimes(random, 1 + random.next() % 80);
    const MemoryPlan plan = plan_memory(lifetimes, alignment);
    ASSERT_EQ(plan.offsets.size(), lifetimes.size());
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % alignment, 0u);
      EXPECT_LE(plan.offsets[i] + lifetimes[i].bytes, plan.arena_bytes);
      for (size_t j = 0; j < i; ++j) {
        if (lifetimes[i].bytes == 0 || lifetimes[j].bytes == 0) continue;
        if (!alive_together(lifetimes[i], lifetimes[j])) continue;
        const bool apart = plan.offsets[i] + lifetimes[i].bytes <= plan.offsets[j] ||
                           plan.offsets[j] + lifetimes[j].bytes <= plan.offsets[i];
        ASSERT_TRUE(apart) << "round " << round << ": " << i << " and " << j;
      }
    }
    EXPECT_GE(plan.arena_bytes, peak(lifetimes));
  }
}

TEST(MemoryPlan, IsDeterministic) {
  SplitMix64 random(8);
  const auto lifetimes = random_lifetimes(random, 120);
  const MemoryPlan first = plan_memory(lifetimes, 64);
  const MemoryPlan second = plan_memory(lifetimes, 64);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.arena_bytes, second.arena_bytes);
}

TEST(MemoryPlan, ReusesWhatIsNoLongerAlive) {
  // A chain: each buffer lives for two steps, so two places are enough.
  std::vector<Lifetime> chain;
  for (uint32_t i = 0; i < 10; ++i) chain.push_back({1000, i, i + 1});
  EXPECT_EQ(plan_memory(chain, 64).arena_bytes, 2u * 1024);
  EXPECT_EQ(plan_memory({}, 64).arena_bytes, 0u);
}

TEST(MemoryPlan, IntermediatesLiveFromWriterToLastReader) {
  test::ProgramBuilder builder;
  const TensorType type{DType::kFloat32, {4}};
  const TensorId x = builder.input("x", type);
  const TensorId s = builder.state("s", type);
  const TensorId c = builder.constant(DType::kFloat32, {4}, {1, 1, 1, 1});
  const TensorId a = builder.op(OpKind::kAdd, {x, c});     // step 0
  const TensorId b = builder.op(OpKind::kRelu, {a});       // step 1
  const TensorId next = builder.op(OpKind::kAdd, {s, a});  // step 2
  const TensorId y = builder.op(OpKind::kAdd, {b, x});     // step 3
  const TensorId unread = builder.op(OpKind::kNeg, {y});   // step 4
  builder.feed_back(s, next);
  builder.output(y, "y");
  const auto lifetimes = intermediate_lifetimes(builder.program());
  const auto expect = [&](TensorId id, uint64_t bytes, uint32_t first, uint32_t last) {
    EXPECT_EQ(lifetimes[id].bytes, bytes) << id;
    if (bytes == 0) return;
    EXPECT_EQ(lifetimes[id].first, first) << id;
    EXPECT_EQ(lifetimes[id].last, last) << id;
  };
  expect(a, 16, 0, 2);
  expect(b, 16, 1, 3);
  expect(unread, 16, 4, 4);
  for (const TensorId outside : {x, s, c, next, y}) expect(outside, 0, 0, 0);
}

}  // namespace
}  // namespace modeld
