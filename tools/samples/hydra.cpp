#include "tools/samples/hydra.h"

#include <cmath>

namespace modeld::samples {
namespace {

constexpr int64_t kHidden = 32;
// Over different pictures the hidden numbers deviate by about the inverse of this; measured with
// the pictures of tests/samples.
constexpr double kOutputGain = 1.45;

// Rows between the two random rows of each curve, with the deviation the plan asks for.
std::vector<float> output_rows(LayerContext context, const HeadPlan& plan) {
  const auto width = static_cast<size_t>(kHidden);
  const std::vector<float> ends =
      context.weights.centred(size_t{2} * plan.curves(), width, kOutputGain);
  std::vector<float> rows;
  rows.reserve(plan.elements().size() * width);
  for (const HeadElement& element : plan.elements()) {
    const float along = element.point.along;
    const float first = 1 - along;
    const float size = element.point.deviation / std::sqrt(first * first + along * along);
    const float* from = ends.data() + size_t{2} * element.curve * width;
    for (size_t i = 0; i < width; ++i) {
      rows.push_back(size * (first * from[i] + along * from[width + i]));
    }
  }
  return rows;
}

}  // namespace

Value hydra_head(LayerContext context, const Value& features, int64_t in, const HeadPlan& plan) {
  auto& graph = context.graph;
  const Scope scope(graph, "head." + plan.name());
  Value x = relu(context, linear(context, features, in, kHidden, 1));
  Value y = relu(context, linear(context, x, kHidden, kHidden, kReluGain));
  x = graph.node("Add", {x, linear(context, y, kHidden, kHidden, kReluGain)});
  const auto width = static_cast<int64_t>(plan.elements().size());
  const Value weight = graph.weight("weight", {width, kHidden}, output_rows(context, plan));
  std::vector<float> centres;
  for (const HeadElement& element : plan.elements()) centres.push_back(element.point.centre);
  const Value bias = graph.weight("bias", {width}, centres);
  return graph.node("Gemm", {x, weight, bias},
                    {{"alpha", 1.0F}, {"beta", 1.0F}, {"transB", int64_t{1}}});
}

std::vector<HeadSlice> consecutive_slices(
    std::span<const std::pair<std::string, int64_t>> names_and_widths) {
  std::vector<HeadSlice> slices;
  int64_t start = 0;
  for (const auto& [name, width] : names_and_widths) {
    slices.push_back({name, start, start + width});
    start += width;
  }
  return slices;
}

}  // namespace modeld::samples
