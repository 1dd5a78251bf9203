#include "tools/samples/driving_network.h"

#include <array>

#include "tools/samples/driving_heads.h"
#include "tools/samples/hydra.h"
#include "tools/samples/vision_trunk.h"

namespace modeld::samples {
namespace {

constexpr uint64_t kSeed = 2580;
constexpr int64_t kTokenWidth = 128;
constexpr int64_t kHeadWidth = 32;
constexpr int64_t kPolicyFeatures = 512;
constexpr int64_t kDesires = 8;

enum class Source { kVision, kPolicy, kFeatures };

struct Head {
  HeadPlan plan;
  Source source;
};

// In the order of facts 4.3, "current small supercombo".
std::vector<Head> heads() {
  return {{lane_lines_plan(), Source::kVision},
          {lane_lines_prob_plan(), Source::kVision},
          {road_edges_plan(), Source::kVision},
          {meta_plan(), Source::kVision},
          {desire_pred_plan(), Source::kVision},
          {pose_plan(), Source::kVision},
          {wide_from_device_euler_plan(), Source::kVision},
          {road_transform_plan(), Source::kVision},
          {trajectory_plan(), Source::kPolicy},
          {lead_plan(), Source::kVision},
          {lead_prob_plan(), Source::kVision},
          {desire_state_plan(), Source::kPolicy},
          {action_plan(), Source::kPolicy},
          {HeadPlan("hidden_state", kDrivingFeatures), Source::kFeatures},
          {pad_plan(), Source::kVision}};
}

// One transformer block over the 25 steps; the last one's token and the two conventions become
// the policy's features.
Value policy(LayerContext context, const DrivingInputs& inputs, const Value& hidden) {
  auto& graph = context.graph;
  const Scope scope(graph, "policy");
  const Value current = graph.node("Reshape", {hidden, graph.integers({1, 1, kDrivingFeatures})});
  const Value steps =
      graph.node("Concat", {inputs.features_buffer, current}, {{"axis", int64_t{1}}});
  const Value seen = token_linear(context, steps, kDrivingFeatures, kTokenWidth, 1);
  const Value wished = token_linear(context, inputs.desire_pulse, kDesires, kTokenWidth, 1);
  const Value position = graph.weight(
      "position", {1, kDrivingSteps, kTokenWidth},
      context.weights.around(static_cast<size_t>(kDrivingSteps * kTokenWidth), 0, 0.2));
  Value x = graph.node("Add", {graph.node("Add", {seen, wished}), position});
  Value y = layer_norm(context, x, kTokenWidth);
  y = attention(context, y, kDrivingSteps, kTokenWidth, kHeadWidth);
  x = graph.node("Add", {x, y});
  y = layer_norm(context, x, kTokenWidth);
  y = gelu_erf(context, token_linear(context, y, kTokenWidth, 2 * kTokenWidth, 1));
  x = graph.node("Add", {x, token_linear(context, y, 2 * kTokenWidth, kTokenWidth, kGeluGain)});
  const Value last = graph.node("Slice", {x, graph.integers({kDrivingSteps - 1}),
                                          graph.integers({kDrivingSteps}), graph.integers({1})});
  const Value flat = graph.node("Flatten", {last}, {{"axis", int64_t{1}}});
  const Value all = graph.node("Concat", {flat, inputs.traffic_convention, inputs.action_t},
                               {{"axis", int64_t{1}}});
  return linear(context, all, kTokenWidth + 4, kPolicyFeatures, 1);
}

Value head_output(LayerContext context, const Head& head, const Value& hidden,
                  const Value& policy_features) {
  switch (head.source) {
    case Source::kVision:
      return hydra_head(context, hidden, kDrivingFeatures, head.plan);
    case Source::kPolicy:
      return hydra_head(context, policy_features, kPolicyFeatures, head.plan);
    case Source::kFeatures:
      break;
  }
  return hidden;
}

}  // namespace

Value driving_network(GraphBuilder& graph, const DrivingInputs& inputs) {
  WeightMaker weights(kSeed);
  const LayerContext context{graph, weights};
  const Value images = graph.node("Concat", {inputs.img, inputs.big_img}, {{"axis", int64_t{1}}});
  const Value hidden = vision_trunk(context, normalised_image(context, images));
  const Value policy_features = policy(context, inputs, hidden);
  std::vector<Value> outputs;
  for (const Head& head : heads()) {
    outputs.push_back(head_output(context, head, hidden, policy_features));
  }
  return graph.node("Concat", outputs, {{"axis", int64_t{1}}});
}

std::vector<HeadSlice> driving_slices() {
  std::vector<std::pair<std::string, int64_t>> widths;
  for (const Head& head : heads()) {
    widths.emplace_back(head.plan.name(), static_cast<int64_t>(head.plan.elements().size()));
  }
  return consecutive_slices(widths);
}

}  // namespace modeld::samples
