// Choices of the generator, all from one seed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>

#include "runtime/program/seeded_inputs.h"

namespace modeld::test {

class Random {
 public:
  explicit Random(uint64_t seed) : source_(SplitMix64(seed).next()) {}

  uint64_t bits() { return source_.next(); }
  double normal() { return source_.normal(); }
  double uniform(double low, double high) { return low + (high - low) * source_.uniform(); }
  // Both ends included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return source_.uniform() < probability; }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + between(0, static_cast<int64_t>(values.size()) - 1));
  }
  template <typename Values>
  const auto& pick_of(const Values& values) {
    return values[static_cast<size_t>(between(0, static_cast<int64_t>(std::size(values)) - 1))];
  }

 private:
  SplitMix64 source_;
};

}  // namespace modeld::test
