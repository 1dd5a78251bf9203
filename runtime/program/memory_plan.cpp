#include "runtime/program/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/checked.h"

namespace modeld {
namespace {

// A buffer that has its place.
struct Placed {
  uint64_t offset;
  uint64_t end;  // aligned
  uint32_t first;
  uint32_t last;
};

bool alive_together(const Placed& placed, const Lifetime& lifetime) {
  return placed.first <= lifetime.last && lifetime.first <= placed.last;
}

// The lowest offset at which `bytes` fit between the buffers alive at the same time. `placed` is
// sorted by offset.
uint64_t lowest_gap(const std::vector<Placed>& placed, const Lifetime& lifetime, uint64_t bytes) {
  uint64_t offset = 0;
  for (const Placed& other : placed) {
    if (!alive_together(other, lifetime)) continue;
    if (offset + bytes <= other.offset) return offset;
    offset = std::max(offset, other.end);
  }
  return offset;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, uint64_t alignment) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<Placed> placed;
  for (const size_t index : order) {
    const Lifetime& lifetime = lifetimes[index];
    if (lifetime.bytes == 0) break;  // the largest come first: only empty ones follow
    const uint64_t bytes = align_up(lifetime.bytes, alignment);
    const uint64_t offset = lowest_gap(placed, lifetime, bytes);
    plan.offsets[index] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + bytes);
    const Placed place{offset, offset + bytes, lifetime.first, lifetime.last};
    const auto behind =
        std::upper_bound(placed.begin(), placed.end(), place,
                         [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
    placed.insert(behind, place);
  }
  return plan;
}

std::vector<Lifetime> intermediate_lifetimes(const Program& program) {
  std::vector<Lifetime> lifetimes(program.tensors.size());
  for (uint32_t step = 0; step < program.ops.size(); ++step) {
    for (const TensorId id : program.ops[step].outputs) {
      lifetimes[id] = {program.tensors[id].type.bytes(), step, step};
    }
    for (const TensorId id : program.ops[step].inputs) {
      if (id != kNoTensor) lifetimes[id].last = step;
    }
  }
  for (const TensorId id : program.outputs) lifetimes[id].bytes = 0;
  for (const StateBinding& state : program.states) lifetimes[state.next].bytes = 0;
  return lifetimes;
}

}  // namespace modeld
