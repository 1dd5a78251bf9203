#include "tools/samples/monitoring_network.h"

#include <array>
#include <string>

#include "tools/samples/hydra.h"

namespace modeld::samples {
namespace {

constexpr uint64_t kSeed = 553;
constexpr int64_t kFeatures = 512;
constexpr int64_t kCalibration = 3;
constexpr int64_t kNeck = 6;
constexpr int64_t kFlattened = kNeck * 15 * 23;
// Measured with the pictures of tests/samples so that what enters each ReLU deviates by 1 to 2.
constexpr double kStemGain = 1;
constexpr double kDepthwiseGain = 0.85;
constexpr double kBranchScale = 0.4;

struct Stage {
  int64_t in;
  int64_t out;
  int64_t kernel;
  int blocks;
};
// From 120 x 180 down to 15 x 23, halving at each start.
constexpr std::array<Stage, 3> kStages{{{48, 96, 5, 1}, {96, 192, 5, 2}, {192, 384, 3, 2}}};

// 960 x 1440 -> 120 x 180: most of the picture's size goes before it costs anything.
Value stem(LayerContext context, const Value& image) {
  const Scope scope(context.graph, "stem");
  Value x = relu(context, conv(context, image, {1, 24, 5, 4}, kStemGain));
  x = relu(context, depthwise(context, x, 24, 3, kReluGain, 2));
  return relu(context, conv(context, x, {24, kStages[0].in}, kReluGain));
}

Value stage(LayerContext context, Value x, const Stage& shape) {
  x = depthwise(context, x, shape.in, shape.kernel, kDepthwiseGain, 2);
  x = relu(context, conv(context, x, {shape.in, shape.out}, kReluGain));
  for (int block = 0; block < shape.blocks; ++block) {
    const Scope scope(context.graph, "blocks." + std::to_string(block));
    Value y = depthwise(context, x, shape.out, shape.kernel, kDepthwiseGain);
    y = relu(context, conv(context, y, {shape.out, shape.out}, kReluGain));
    x = scaled_residual(context, x, y, shape.out, kBranchScale);
  }
  return x;
}

// What is left of the picture, place by place, and the calibration: 512 features.
Value fully_connected(LayerContext context, Value x, const Value& calib) {
  auto& graph = context.graph;
  const Scope scope(graph, "neck");
  x = relu(context, conv(context, x, {kStages.back().out, kNeck}, kReluGain));
  x = graph.node("Flatten", {x}, {{"axis", int64_t{1}}});
  // Pictures of any contrast give features of one size.
  x = layer_norm(context, x, kFlattened);
  const Value angles =
      graph.node("Cast", {calib}, {{"to", static_cast<int64_t>(Element::kFloat16)}});
  x = graph.node("Concat", {x, angles}, {{"axis", int64_t{1}}});
  return linear(context, x, kFlattened + kCalibration, kFeatures, 1);
}

// Two residual blocks 512-1024-512.
Value residual_mlp(LayerContext context, Value x) {
  for (int block = 0; block < 2; ++block) {
    const Scope scope(context.graph, "mlp." + std::to_string(block));
    Value y = relu(context, linear(context, x, kFeatures, 2 * kFeatures, 1));
    y = linear(context, y, 2 * kFeatures, kFeatures, kReluGain / 2);
    x = context.graph.node("Add", {x, y});
  }
  return x;
}

HeadPlan face_plan(const std::string& side) {
  HeadPlan plan("face_descs_" + side, 12);
  plan.fill(0, 3, 0, 0.15);  // orientation, rad
  plan.fill(3, 2, 0, 0.15);  // position
  plan.fill(5, 1, 0, 0.1);   // unused
  plan.fill(6, 6, -2, 0.2);  // logarithms of deviations
  return plan;
}

void add_side(std::vector<HeadPlan>& plans, const std::string& side) {
  plans.push_back(face_plan(side));
  const std::array<std::pair<const char*, double>, 8> logits{{{"face_prob", 2},
                                                              {"left_eye_prob", 2},
                                                              {"right_eye_prob", 2},
                                                              {"sunglasses_prob", -2},
                                                              {"left_blink_prob", -2},
                                                              {"right_blink_prob", -2},
                                                              {"using_phone_prob", -2.5},
                                                              {"sleep_prob", -2.5}}};
  for (const auto& [name, centre] : logits) {
    plans.emplace_back(std::string(name) + "_" + side, 1);
    plans.back().set(0, centre, 0.4);
  }
}

std::vector<HeadPlan> head_plans() {
  std::vector<HeadPlan> plans;
  add_side(plans, "lhd");
  add_side(plans, "rhd");
  plans.emplace_back("wheel_on_right", 1);
  plans.back().set(0, -2, 0.4);
  return plans;
}

}  // namespace

Value monitoring_network(GraphBuilder& graph, const Value& input_img, const Value& calib) {
  WeightMaker weights(kSeed);
  const LayerContext context{graph, weights};
  Value x = graph.node("Reshape",
                       {input_img, graph.integers({1, 1, kMonitoringHeight, kMonitoringWidth})});
  x = stem(context, normalised_image(context, x));
  for (size_t index = 0; index < kStages.size(); ++index) {
    const Scope scope(graph, "stages." + std::to_string(index));
    x = stage(context, x, kStages[index]);
  }
  const Value features = residual_mlp(context, fully_connected(context, x, calib));
  std::vector<Value> outputs;
  for (const HeadPlan& plan : head_plans()) {
    outputs.push_back(hydra_head(context, features, kFeatures, plan));
  }
  outputs.push_back(features);
  return graph.node("Concat", outputs, {{"axis", int64_t{1}}});
}

std::vector<HeadSlice> monitoring_slices() {
  std::vector<std::pair<std::string, int64_t>> widths;
  for (const HeadPlan& plan : head_plans()) {
    widths.emplace_back(plan.name(), static_cast<int64_t>(plan.elements().size()));
  }
  widths.emplace_back("features", kFeatures);
  return consecutive_slices(widths);
}

}  // namespace modeld::samples
