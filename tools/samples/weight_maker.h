// Weights that look learnt enough to keep signals alive, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/program/seeded_inputs.h"

namespace modeld::samples {

// Draws from one SplitMix64 in the order of the calls. Only additions, multiplications, divisions
// and square roots, which IEEE 754 rounds alike everywhere.
class WeightMaker {
 public:
  explicit WeightMaker(uint64_t seed) : random_(seed) {}

  // `rows` x `fan_in`, deviation gain / sqrt(fan_in), every row shifted to mean zero: what all
  // input channels have in common (after a ReLU or GELU they share a positive mean) then does not
  // travel on, and pictures stay distinguishable through many layers without normalisation layers
  // (weight standardisation: Qiao et al. 2019, Brock et al. 2021).
  std::vector<float> centred(size_t rows, size_t fan_in, double gain);

  // The same without the shift: for filters that should pass a constant.
  std::vector<float> plain(size_t rows, size_t fan_in, double gain);

  // Depthwise `size` x `size` filters: one at the middle tap plus plain noise of `gain`.
  std::vector<float> near_identity(size_t channels, size_t size, double gain);

  // `count` values around `mean`.
  std::vector<float> around(size_t count, double mean, double deviation);

 private:
  SplitMix64 random_;
};

}  // namespace modeld::samples
