// The picture part of the driving sample.
#pragma once

#include <array>
#include <cstdint>

#include "tools/samples/layers.h"

namespace modeld::samples {

// Channels and blocks of the four stages.
struct TrunkShape {
  std::array<int64_t, 4> widths;
  std::array<int, 4> depths;
};
inline constexpr TrunkShape kWholeTrunk{{64, 128, 256, 512}, {2, 2, 6, 2}};
// A ninth of the weights and of the arithmetic: for a processor that has to do without the device
// for which the whole one was made.
inline constexpr TrunkShape kSmallTrunk{{32, 32, 64, 128}, {1, 1, 2, 1}};

// kWholeTrunk: a FastViT-T12 in its re-parameterised inference form (facts/test-material, "Layers";
// Vasu et al. 2023, "FastViT"): (1, 24, 128, 256) normalised planes -> (1, 512) features. Stem 3x3
// s2, depthwise 3x3 s2, 1x1; stages of width 64, 128, 256, 512 and depth 2, 2, 6, 2 joined by
// grouped 7x7 s2 + 1x1; attention in the last stage (32 tokens, heads of 32); 3x3 to twice the
// width with squeeze-excite, GELU, global average pool, Linear.
Value vision_trunk(LayerContext context, const Value& image, const TrunkShape& shape);

}  // namespace modeld::samples
