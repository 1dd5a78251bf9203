// Layers of the sample networks, spelled out in primitive operators as exporters do.
#pragma once

#include <cstdint>

#include "tools/samples/graph_builder.h"
#include "tools/samples/weight_maker.h"

namespace modeld::samples {

// Where layers go and where their weights come from.
struct LayerContext {
  GraphBuilder& graph;
  WeightMaker& weights;
};

// Gain that restores unit variance after the activation, for centred weights and normal input:
// 1 / deviation of GELU(x), of ReLU(x).
constexpr double kGeluGain = 1.7015;
constexpr double kReluGain = 1.7128;

struct ConvShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t group = 1;
};

// Padded by kernel / 2 on every side, small random bias; weights centred unless a filter sees one
// channel only and should pass a constant.
Value conv(LayerContext context, const Value& x, const ConvShape& shape, double gain);
// One filter a channel, not centred.
Value depthwise(LayerContext context, const Value& x, int64_t channels, int64_t kernel, double gain,
                int64_t stride = 1);
// One filter a channel, near the identity: a re-parameterised block with its skip folded in.
Value depthwise_identity(LayerContext context, const Value& x, int64_t channels, int64_t kernel,
                         double noise);
// x + scale * branch, one learnt scale a channel (around `mean_scale`).
Value scaled_residual(LayerContext context, const Value& x, const Value& branch, int64_t channels,
                      double mean_scale);

// Gemm on a (1, in) row, weights (out, in).
Value linear(LayerContext context, const Value& x, int64_t in, int64_t out, double gain);
// MatMul and Add over the last axis, weights (in, out).
Value token_linear(LayerContext context, const Value& x, int64_t in, int64_t out, double gain);

Value relu(LayerContext context, const Value& x);
// .5 x (1 + tanh(sqrt(2 / pi) (x + .044715 x^3))).
Value gelu_tanh(LayerContext context, const Value& x);
// .5 x (1 + erf(x / sqrt(2))).
Value gelu_erf(LayerContext context, const Value& x);
// Over the last axis of width `width`, written out with epsilon 1e-5.
Value layer_norm(LayerContext context, const Value& x, int64_t width);

// Self-attention over (1, tokens, width) with heads of `head_width`, projection included.
Value attention(LayerContext context, const Value& x, int64_t tokens, int64_t width,
                int64_t head_width);

// (x - 127.5) / 63.75 of a uint8 image, in float16.
Value normalised_image(LayerContext context, const Value& x);

}  // namespace modeld::samples
