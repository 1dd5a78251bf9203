// The activations that turn raw network outputs into probabilities and deviations, to the last bit
// of the original: float32 after every operation, the C library's expf. Source: facts 4.2.
// `limit` is where the argument of exp is cut off: at 11 today, nowhere in the oldest generations.
#pragma once

#include <cmath>
#include <limits>
#include <span>

namespace modeld::parsing {

// A wild log-deviation stays finite; NaN stays NaN.
constexpr float kExpLimit = 11.0f;
constexpr float kNoExpLimit = std::numeric_limits<float>::infinity();

inline float safe_exp(float x, float limit = kExpLimit) {
  return std::exp(x > limit ? limit : x);
}

inline float sigmoid(float x, float limit = kExpLimit) {
  return 1.0f / (1.0f + safe_exp(-x, limit));
}

// `in` holds all means, then as many log-deviations; both halves of the size of `mean`.
inline void split_mdn(std::span<const float> in, std::span<float> mean, std::span<float> deviation,
                      float limit = kExpLimit) {
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = in[i];
    deviation[i] = safe_exp(in[mean.size() + i], limit);
  }
}

inline void sigmoid_all(std::span<const float> in, std::span<float> out, float limit = kExpLimit) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = sigmoid(in[i], limit);
}

// A NaN makes all eight NaN. The order of the sum is part of the contract.
inline void softmax8(std::span<const float, 8> in, std::span<float, 8> out) {
  float most = in[0];
  for (const float x : in) {
    if (x > most || std::isnan(x)) most = x;
  }
  for (size_t i = 0; i < 8; ++i) out[i] = safe_exp(in[i] - most);
  const float sum =
      ((out[0] + out[1]) + (out[2] + out[3])) + ((out[4] + out[5]) + (out[6] + out[7]));
  for (float& x : out) x /= sum;
}

}  // namespace modeld::parsing
