#include "tools/samples/vision_trunk.h"

#include <string>

namespace modeld::samples {
namespace {

constexpr int64_t kPlanes = 24;
constexpr int64_t kExpansion = 3;
constexpr int64_t kLastRows = 4;
constexpr int64_t kLastColumns = 8;
constexpr int64_t kHeadWidth = 32;
constexpr int64_t kSqueezeRatio = 16;
constexpr int64_t kFeatures = 512;

// Measured with the pictures of tests/samples: what enters a GELU deviates by 0.3 to 1. Larger
// gains tell pictures further apart but amplify the rounding of float16 with them.
constexpr double kStemGain = 1.5;
constexpr double kExpansionGain = 1.15;
constexpr double kDownGain = 1.25;
constexpr double kMixerNoise = 0.2;
constexpr double kLayerScale = 0.35;

Value stem(LayerContext context, const Value& image, int64_t width) {
  const Scope scope(context.graph, "stem");
  Value x = gelu_tanh(context, conv(context, image, {kPlanes, width, 3, 2}, kStemGain));
  x = gelu_tanh(context, depthwise(context, x, width, 3, kGeluGain, 2));
  return gelu_tanh(context, conv(context, x, {width, width}, kGeluGain));
}

Value conv_mlp(LayerContext context, const Value& x, int64_t width) {
  Value y = depthwise(context, x, width, 7, 1);
  y = gelu_tanh(context, conv(context, y, {width, kExpansion * width}, kExpansionGain));
  y = conv(context, y, {kExpansion * width, width}, kGeluGain);
  return scaled_residual(context, x, y, width, kLayerScale);
}

Value rep_mixer_block(LayerContext context, const Value& x, int64_t width) {
  return conv_mlp(context, depthwise_identity(context, x, width, 3, kMixerNoise), width);
}

Value attention_block(LayerContext context, const Value& x, int64_t width) {
  auto& graph = context.graph;
  constexpr int64_t kTokens = kLastRows * kLastColumns;
  Value tokens = graph.node("Reshape", {x, graph.integers({1, width, kTokens})});
  tokens = graph.node("Transpose", {tokens}, {{"perm", Dims{0, 2, 1}}});
  Value mixed = attention(context, tokens, kTokens, width, kHeadWidth);
  mixed = graph.node("Transpose", {mixed}, {{"perm", Dims{0, 2, 1}}});
  mixed = graph.node("Reshape", {mixed, graph.integers({1, width, kLastRows, kLastColumns})});
  return conv_mlp(context, scaled_residual(context, x, mixed, width, kLayerScale), width);
}

Value patch_embedding(LayerContext context, const Value& x, int64_t in, int64_t out) {
  const Scope scope(context.graph, "downsample");
  const Value y = conv(context, x, {in, out, 7, 2, in}, 1);
  return gelu_tanh(context, conv(context, y, {out, out}, kDownGain));
}

Value stage(LayerContext context, Value x, const TrunkShape& shape, size_t index) {
  const Scope scope(context.graph, "stages." + std::to_string(index));
  const int64_t width = shape.widths[index];
  if (index > 0) x = patch_embedding(context, x, shape.widths[index - 1], width);
  const bool last = index + 1 == shape.widths.size();
  if (last) x = depthwise_identity(context, x, width, 7, kMixerNoise);
  for (int block = 0; block < shape.depths[index]; ++block) {
    const Scope inner(context.graph, "blocks." + std::to_string(block));
    x = last ? attention_block(context, x, width) : rep_mixer_block(context, x, width);
  }
  return x;
}

Value squeeze_excite(LayerContext context, const Value& x, int64_t width) {
  const Scope scope(context.graph, "se");
  Value gate = context.graph.node("GlobalAveragePool", {x});
  gate = relu(context, conv(context, gate, {width, width / kSqueezeRatio}, 1));
  gate = conv(context, gate, {width / kSqueezeRatio, width}, kReluGain);
  return context.graph.node("Mul", {x, context.graph.node("Sigmoid", {gate})});
}

}  // namespace

Value vision_trunk(LayerContext context, const Value& image, const TrunkShape& shape) {
  const Scope scope(context.graph, "vision");
  Value x = stem(context, image, shape.widths.front());
  for (size_t index = 0; index < shape.widths.size(); ++index) {
    x = stage(context, x, shape, index);
  }
  const int64_t width = shape.widths.back();
  x = conv(context, x, {width, 2 * width, 3, 1, width}, 1);
  x = gelu_tanh(context, squeeze_excite(context, x, 2 * width));
  x = context.graph.node("GlobalAveragePool", {x});
  x = context.graph.node("Flatten", {x}, {{"axis", int64_t{1}}});
  // Pictures of any contrast give features of one size.
  x = layer_norm(context, x, 2 * width);
  return linear(context, x, 2 * width, kFeatures, 1);
}

}  // namespace modeld::samples
