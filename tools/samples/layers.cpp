#include "tools/samples/layers.h"

#include <cmath>
#include <numbers>

namespace modeld::samples {
namespace {

constexpr double kBiasDeviation = 0.02;
// Above 1 so that the shares of the softmax differ visibly.
constexpr double kAttentionGain = 1.5;
constexpr float kNormEpsilon = 1e-5F;

size_t count(int64_t value) {
  return static_cast<size_t>(value);
}

Value conv_with(LayerContext context, const Value& x, const ConvShape& shape,
                const std::vector<float>& weights) {
  auto& graph = context.graph;
  const int64_t kernel = shape.kernel;
  const int64_t pad = kernel / 2;
  const Value weight =
      graph.weight("weight", {shape.out, shape.in / shape.group, kernel, kernel}, weights);
  const Value bias = graph.weight("bias", {shape.out},
                                  context.weights.around(count(shape.out), 0, kBiasDeviation));
  return graph.node("Conv", {x, weight, bias},
                    {{"dilations", Dims{1, 1}},
                     {"group", shape.group},
                     {"kernel_shape", Dims{kernel, kernel}},
                     {"pads", Dims{pad, pad, pad, pad}},
                     {"strides", Dims{shape.stride, shape.stride}}});
}

// Row i of the result is row i % rows of the transposed draw: exporters store Linear weights of
// MatMul as (in, out).
std::vector<float> transposed(const std::vector<float>& weights, size_t rows, size_t columns) {
  std::vector<float> out(weights.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      out[column * rows + row] = weights[row * columns + column];
    }
  }
  return out;
}

}  // namespace

Value conv(LayerContext context, const Value& x, const ConvShape& shape, double gain) {
  const size_t fan_in = count(shape.in / shape.group * shape.kernel * shape.kernel);
  const size_t rows = count(shape.out);
  return conv_with(context, x, shape,
                   shape.in == shape.group ? context.weights.plain(rows, fan_in, gain)
                                           : context.weights.centred(rows, fan_in, gain));
}

Value depthwise(LayerContext context, const Value& x, int64_t channels, int64_t kernel, double gain,
                int64_t stride) {
  return conv_with(context, x, {channels, channels, kernel, stride, channels},
                   context.weights.plain(count(channels), count(kernel * kernel), gain));
}

Value depthwise_identity(LayerContext context, const Value& x, int64_t channels, int64_t kernel,
                         double noise) {
  return conv_with(context, x, {channels, channels, kernel, 1, channels},
                   context.weights.near_identity(count(channels), count(kernel), noise));
}

Value scaled_residual(LayerContext context, const Value& x, const Value& branch, int64_t channels,
                      double mean_scale) {
  auto& graph = context.graph;
  const Value scale =
      graph.weight("layer_scale", {channels, 1, 1},
                   context.weights.around(count(channels), mean_scale, mean_scale / 4));
  return graph.node("Add", {x, graph.node("Mul", {branch, scale})});
}

Value linear(LayerContext context, const Value& x, int64_t in, int64_t out, double gain) {
  auto& graph = context.graph;
  const Value weight =
      graph.weight("weight", {out, in}, context.weights.centred(count(out), count(in), gain));
  const Value bias =
      graph.weight("bias", {out}, context.weights.around(count(out), 0, kBiasDeviation));
  return graph.node("Gemm", {x, weight, bias},
                    {{"alpha", 1.0F}, {"beta", 1.0F}, {"transB", int64_t{1}}});
}

Value token_linear(LayerContext context, const Value& x, int64_t in, int64_t out, double gain) {
  auto& graph = context.graph;
  const auto drawn = context.weights.centred(count(out), count(in), gain);
  const Value weight = graph.weight("weight", {in, out}, transposed(drawn, count(out), count(in)));
  const Value bias =
      graph.weight("bias", {out}, context.weights.around(count(out), 0, kBiasDeviation));
  return graph.node("Add", {graph.node("MatMul", {x, weight}), bias});
}

Value relu(LayerContext context, const Value& x) {
  return context.graph.node("Relu", {x});
}

Value gelu_tanh(LayerContext context, const Value& x) {
  auto& graph = context.graph;
  const Value cube = graph.node("Mul", {x, graph.node("Mul", {x, x})});
  const Value bent = graph.node("Add", {x, graph.node("Mul", {cube, graph.scalar(0.044715F)})});
  const Value inner = graph.node(
      "Mul", {bent, graph.scalar(static_cast<float>(std::sqrt(2 * std::numbers::inv_pi)))});
  const Value gate = graph.node("Add", {graph.node("Tanh", {inner}), graph.scalar(1)});
  return graph.node("Mul", {graph.node("Mul", {x, gate}), graph.scalar(0.5F)});
}

Value gelu_erf(LayerContext context, const Value& x) {
  auto& graph = context.graph;
  const Value inner = graph.node("Div", {x, graph.scalar(static_cast<float>(std::numbers::sqrt2))});
  const Value gate = graph.node("Add", {graph.node("Erf", {inner}), graph.scalar(1)});
  return graph.node("Mul", {graph.node("Mul", {x, gate}), graph.scalar(0.5F)});
}

Value layer_norm(LayerContext context, const Value& x, int64_t width) {
  auto& graph = context.graph;
  const NodeAttributes over_last{{"axes", Dims{-1}}, {"keepdims", int64_t{1}}};
  const Value mean = graph.node("ReduceMean", {x}, over_last);
  const Value apart = graph.node("Sub", {x, mean});
  const Value square = graph.node("Pow", {apart, graph.scalar(2)});
  const Value variance = graph.node("ReduceMean", {square}, over_last);
  const Value deviation =
      graph.node("Sqrt", {graph.node("Add", {variance, graph.scalar(kNormEpsilon)})});
  const Value unit = graph.node("Div", {apart, deviation});
  const Value scale =
      graph.weight("norm.weight", {width}, context.weights.around(count(width), 1, 0.1));
  const Value shift =
      graph.weight("norm.bias", {width}, context.weights.around(count(width), 0, 0.1));
  return graph.node("Add", {graph.node("Mul", {unit, scale}), shift});
}

Value attention(LayerContext context, const Value& x, int64_t tokens, int64_t width,
                int64_t head_width) {
  auto& graph = context.graph;
  const int64_t heads = width / head_width;
  const Value packed =
      graph.node("Reshape", {token_linear(context, x, width, 3 * width, kAttentionGain),
                             graph.integers({1, tokens, 3, heads, head_width})});
  const Value by_part = graph.node("Transpose", {packed}, {{"perm", Dims{2, 0, 3, 1, 4}}});
  std::vector<Value> parts = graph.node_with_outputs("Split", {by_part}, {{"axis", int64_t{0}}}, 3);
  for (Value& part : parts) part = graph.node("Squeeze", {part, graph.integers({0})});
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_width)));
  const Value query = graph.node("Mul", {parts[0], graph.scalar(scale)});
  const Value key = graph.node("Transpose", {parts[1]}, {{"perm", Dims{0, 1, 3, 2}}});
  const Value scores = graph.node("MatMul", {query, key});
  const Value shares = graph.node("Softmax", {scores}, {{"axis", int64_t{-1}}});
  const Value mixed = graph.node("MatMul", {shares, parts[2]});
  const Value by_token = graph.node("Transpose", {mixed}, {{"perm", Dims{0, 2, 1, 3}}});
  const Value joined = graph.node("Reshape", {by_token, graph.integers({1, tokens, width})});
  return token_linear(context, joined, width, width, 1);
}

Value normalised_image(LayerContext context, const Value& x) {
  auto& graph = context.graph;
  const Value half = graph.node("Cast", {x}, {{"to", static_cast<int64_t>(Element::kFloat16)}});
  const Value centred = graph.node("Sub", {half, graph.scalar(127.5F)});
  return graph.node("Div", {centred, graph.scalar(63.75F)});
}

}  // namespace modeld::samples
