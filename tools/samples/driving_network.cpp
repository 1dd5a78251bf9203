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

// Past features and this frame's.
Value joined_features(GraphBuilder& graph, const Value& past, const Value& hidden) {
  const Scope scope(graph, "policy");
  const Value current = graph.node("Reshape", {hidden, graph.integers({1, 1, kDrivingFeatures})});
  return graph.node("Concat", {past, current}, {{"axis", int64_t{1}}});
}

// One transformer block over the 25 steps; the last one's token and the two conventions become
// the policy's features.
Value policy(LayerContext context, const DrivingPolicyInputs& inputs) {
  auto& graph = context.graph;
  const Scope scope(graph, "policy");
  const Value& steps = inputs.features_buffer;
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

// Whatever a graph holds of the network, all weights are drawn, in one order: a half that is not
// wanted is built beside it and thrown away.
class DrivingBuilder {
 public:
  DrivingBuilder(GraphBuilder& vision, GraphBuilder& policy, const TrunkShape& trunk = kWholeTrunk)
      : trunk_(trunk), weights_(kSeed), vision_{vision, weights_}, policy_{policy, weights_} {}

  void see(const Value& img, const Value& big_img) {
    auto& graph = vision_.graph;
    const Value images = graph.node("Concat", {img, big_img}, {{"axis", int64_t{1}}});
    hidden_ = vision_trunk(vision_, normalised_image(vision_, images), trunk_);
  }
  const Value& hidden() const { return hidden_; }

  void think(const DrivingPolicyInputs& inputs) { policy_features_ = policy(policy_, inputs); }

  // The heads that `wanted` takes, one after another, in `graph`.
  template <typename Wanted>
  Value answer(GraphBuilder& graph, Wanted wanted) {
    std::vector<Value> outputs;
    for (const Head& head : heads()) {
      const Value output = output_of(head);
      if (wanted(head)) outputs.push_back(output);
    }
    return graph.node("Concat", outputs, {{"axis", int64_t{1}}});
  }

 private:
  Value output_of(const Head& head) {
    switch (head.source) {
      case Source::kVision:
        return hydra_head(vision_, hidden_, kDrivingFeatures, head.plan);
      case Source::kPolicy:
        return hydra_head(policy_, policy_features_, kPolicyFeatures, head.plan);
      case Source::kFeatures:
        break;
    }
    return hidden_;
  }

  const TrunkShape& trunk_;
  WeightMaker weights_;
  const LayerContext vision_;
  const LayerContext policy_;
  Value hidden_;
  Value policy_features_;
};

bool is_any(const Head&) {
  return true;
}
bool is_of_vision(const Head& head) {
  return head.source != Source::kPolicy;
}
bool is_of_policy(const Head& head) {
  return head.source == Source::kPolicy;
}

template <typename Wanted>
std::vector<HeadSlice> slices_of(Wanted wanted) {
  std::vector<std::pair<std::string, int64_t>> widths;
  for (const Head& head : heads()) {
    if (!wanted(head)) continue;
    widths.emplace_back(head.plan.name(), static_cast<int64_t>(head.plan.elements().size()));
  }
  return consecutive_slices(widths);
}

Value whole_network(GraphBuilder& graph, const DrivingInputs& inputs, const TrunkShape& trunk) {
  DrivingBuilder builder(graph, graph, trunk);
  builder.see(inputs.img, inputs.big_img);
  builder.think({inputs.desire_pulse, inputs.traffic_convention, inputs.action_t,
                 joined_features(graph, inputs.features_buffer, builder.hidden())});
  return builder.answer(graph, is_any);
}

}  // namespace

Value driving_network(GraphBuilder& graph, const DrivingInputs& inputs) {
  return whole_network(graph, inputs, kWholeTrunk);
}

Value small_driving_network(GraphBuilder& graph, const DrivingInputs& inputs) {
  return whole_network(graph, inputs, kSmallTrunk);
}

Value driving_vision_network(GraphBuilder& graph, const Value& img, const Value& big_img) {
  GraphBuilder rest("unused");
  DrivingBuilder builder(graph, rest);
  builder.see(img, big_img);
  builder.think({"desire_pulse", "traffic_convention", "action_t", "features_buffer"});
  return builder.answer(graph, is_of_vision);
}

Value driving_policy_network(GraphBuilder& graph, const DrivingPolicyInputs& inputs) {
  GraphBuilder rest("unused");
  DrivingBuilder builder(rest, graph);
  builder.see("img", "big_img");
  builder.think(inputs);
  return builder.answer(graph, is_of_policy);
}

std::vector<HeadSlice> driving_slices() {
  return slices_of(is_any);
}

std::vector<HeadSlice> driving_vision_slices() {
  return slices_of(is_of_vision);
}

std::vector<HeadSlice> driving_policy_slices() {
  return slices_of(is_of_policy);
}

}  // namespace modeld::samples
