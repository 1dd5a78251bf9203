#include "tools/images/shading.h"

#include "runtime/program/seeded_inputs.h"

namespace modeld {
namespace {

float lattice(int32_t x, int32_t y) {
  const auto column = static_cast<uint64_t>(static_cast<uint32_t>(x));
  SplitMix64 random(column << 32 | static_cast<uint32_t>(y));
  return static_cast<float>(random.uniform());
}

}  // namespace

float soft_noise(float x, float y) {
  const float left = std::floor(x);
  const float top = std::floor(y);
  const float right_share = smooth_step(0, 1, x - left);
  const float down_share = smooth_step(0, 1, y - top);
  const auto column = static_cast<int32_t>(left);
  const auto row = static_cast<int32_t>(top);
  const auto across = [&](int32_t r) {
    return lattice(column, r) * (1 - right_share) + lattice(column + 1, r) * right_share;
  };
  return across(row) * (1 - down_share) + across(row + 1) * down_share;
}

}  // namespace modeld
