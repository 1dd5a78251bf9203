// A model of a few kilobytes that uses every part of a manifest: frame, warp, transform, vector
// input, constants, state with an initial value, slices, camera, references.
#pragma once

#include "runtime/artifact/model.h"

namespace modeld::test {

// y = warp(camera, transform) flattened x W + x + s; s' = y. Weights: W (128 x 4, f32) and the
// initial value of s (4, f32).
Model tiny_model();

// Bytes of the weights of tiny_model().
constexpr uint64_t kTinyWeightsBytes = 2048 + 16;

}  // namespace modeld::test
