// The activations that turn raw network outputs into probabilities and deviations, to the last bit
// of the original: float32 after every operation, the C library's expf. Source: facts 4.2.
#pragma once

#include <cmath>
#include <span>

namespace modeld::parsing {

// exp of at most 11, so that a wild log-deviation stays finite; NaN stays NaN.
inline float safe_exp(float x) {
  return std::exp(x > 11.0f ? 11.0f : x);
}

inline float sigmoid(float x) {
  return 1.0f / (1.0f + safe_exp(-x));
}

// `in` holds all means, then as many log-deviations; both halves of the size of `mean`.
inline void split_mdn(std::span<const float> in, std::span<float> mean,
                      std::span<float> deviation) {
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = in[i];
    deviation[i] = safe_exp(in[mean.size() + i]);
  }
}

inline void sigmoid_all(std::span<const float> in, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = sigmoid(in[i]);
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
