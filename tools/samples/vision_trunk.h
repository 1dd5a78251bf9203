// The picture part of the driving sample.
#pragma once

#include "tools/samples/layers.h"

namespace modeld::samples {

// A FastViT-T12 in its re-parameterised inference form (facts/test-material, "Layers"; Vasu et
// al. 2023, "FastViT"): (1, 24, 128, 256) normalised planes -> (1, 512) features. Stem 3x3 s2,
// depthwise 3x3 s2, 1x1; stages of width 64, 128, 256, 512 and depth 2, 2, 6, 2 joined by
// grouped 7x7 s2 + 1x1; attention in the last stage (32 tokens, heads of 32); 3x3 to twice the
// width with squeeze-excite, GELU, global average pool, Linear.
Value vision_trunk(LayerContext context, const Value& image);

}  // namespace modeld::samples
