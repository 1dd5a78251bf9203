// Places buffers of known lifetime in one arena.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/program/program.h"

namespace modeld {

// Alive from step `first` to step `last`, both included. Size 0 needs no place (offset 0).
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // one per lifetime, multiples of the alignment
  uint64_t arena_bytes = 0;
};

// Greedy by size (largest first, lowest free offset), deterministic. Two buffers whose lifetimes
// overlap never share a byte. `alignment` is a power of two.
MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, uint64_t alignment);

// Lifetimes of a program's intermediates in plain layout, by tensor id; tensors that live outside
// the arena (inputs, outputs, constants, states) have size 0.
std::vector<Lifetime> intermediate_lifetimes(const Program& program);

}  // namespace modeld
