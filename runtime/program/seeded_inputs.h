// The inputs of an artifact's reference vectors, made from a seed so that they need not be stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/program/tensor.h"

namespace modeld {

// SplitMix64 (Steele, Lea, Flood 2014): the project's only source of repeatable random numbers.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t next();
  double uniform();  // [0, 1), 53 bits
  // Mean 0, deviation 1: the sum of 12 uniform() minus 6. Only additions, so that no libm
  // decides a bit; reaches to 6 deviations.
  double normal();

 private:
  uint64_t state_;
};

// Fills `out` (type.bytes() long, or any length for nv12): floats N(0,1), u8 and nv12 uniform
// 0..255, other integers 0..15, bool 0/1. The same seed, `stream` (which input) and `step` (which
// frame) give the same bytes on every machine.
void fill_seeded(std::span<std::byte> out, DType dtype, uint64_t seed, uint32_t stream,
                 uint32_t step);

}  // namespace modeld
