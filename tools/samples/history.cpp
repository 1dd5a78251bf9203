#include "tools/samples/history.h"

#include <string>

#include "tools/samples/driving_network.h"

namespace modeld::samples {
namespace {

constexpr int64_t kSkip = 4;  // frames between two steps of context
constexpr int64_t kPlanes = 6;
constexpr int64_t kRows = 128;
constexpr int64_t kColumns = 256;
constexpr int64_t kImageQueue = kSkip + 1;
constexpr int64_t kDesires = 8;
constexpr int64_t kDesireQueue = kSkip * kDrivingSteps;
constexpr int64_t kFeatureQueue = kSkip * (kDrivingSteps - 1);

Value slice_rows(GraphBuilder& graph, const Value& x, int64_t start, int64_t stop, int64_t step,
                 int64_t axis = 0) {
  return graph.node("Slice", {x, graph.integers({start}), graph.integers({stop}),
                              graph.integers({axis}), graph.integers({step})});
}

// Drops the oldest row, appends the newest: the queue of the next frame, an output.
Value push(GraphBuilder& graph, const std::string& state, Element element, const Dims& dims,
           const Value& newest) {
  const Value queue = graph.input(state, element, dims);
  const Value kept = slice_rows(graph, queue, 1, dims[0], 1);
  return graph.node("Concat", {kept, newest}, {{"axis", int64_t{0}}}, "next_" + state);
}

Value to_half(GraphBuilder& graph, const Value& x) {
  return graph.node("Cast", {x}, {{"to", static_cast<int64_t>(Element::kFloat16)}});
}

// Frames t - 4 and t of one camera as 12 planes.
Value image_history(GraphBuilder& graph, const Value& warped, int64_t camera,
                    const std::string& state) {
  const Value newest = slice_rows(graph, warped, camera, camera + 1, 1);
  const Value queue =
      push(graph, state, Element::kUint8, {kImageQueue, kPlanes, kRows, kColumns}, newest);
  const Value pair = slice_rows(graph, queue, 0, kImageQueue, kSkip);
  return graph.node("Reshape", {pair, graph.integers({1, 2 * kPlanes, kRows, kColumns})});
}

// The largest pulse of every four frames.
Value desire_history(GraphBuilder& graph) {
  const Value desire = graph.input("desire", Element::kFloat32, {kDesires});
  const Value newest = graph.node("Reshape", {desire, graph.integers({1, 1, kDesires})});
  const Value queue =
      push(graph, "state_desire_q", Element::kFloat32, {kDesireQueue, 1, kDesires}, newest);
  const Value grouped =
      graph.node("Reshape", {queue, graph.integers({kDrivingSteps, kSkip, 1, kDesires})});
  const Value largest =
      graph.node("ReduceMax", {grouped}, {{"axes", Dims{1}}, {"keepdims", int64_t{0}}});
  const Value steps =
      graph.node("Reshape", {largest, graph.integers({1, kDrivingSteps, kDesires})});
  return to_half(graph, steps);
}

// Features of every fourth past frame; the newest is the previous frame's.
Value feature_history(GraphBuilder& graph) {
  const Value previous = graph.input("state_prev_feat", Element::kFloat32, {1, kDrivingFeatures});
  const Value newest = graph.node("Reshape", {previous, graph.integers({1, 1, kDrivingFeatures})});
  const Value queue =
      push(graph, "state_feat_q", Element::kFloat32, {kFeatureQueue, 1, kDrivingFeatures}, newest);
  const Value steps = slice_rows(graph, queue, 0, kFeatureQueue, kSkip);
  return to_half(
      graph,
      graph.node("Reshape", {steps, graph.integers({1, kDrivingSteps - 1, kDrivingFeatures})}));
}

HeadSlice features_slice() {
  for (const HeadSlice& slice : driving_slices()) {
    if (slice.name == "hidden_state") return slice;
  }
  return {};
}

void declare_outputs(GraphBuilder& graph) {
  const Dims images{kImageQueue, kPlanes, kRows, kColumns};
  graph.output("outputs", Element::kFloat32, {1, kDrivingOutputs});
  graph.output("next_state_img_q", Element::kUint8, images);
  graph.output("next_state_big_img_q", Element::kUint8, images);
  graph.output("next_state_desire_q", Element::kFloat32, {kDesireQueue, 1, kDesires});
  graph.output("next_state_feat_q", Element::kFloat32, {kFeatureQueue, 1, kDrivingFeatures});
  graph.output("next_state_prev_feat", Element::kFloat32, {1, kDrivingFeatures});
}

}  // namespace

void driving_network_with_history(GraphBuilder& graph) {
  DrivingInputs inputs;
  {
    const Scope scope(graph, "queues");
    const Value warped = graph.input("warped", Element::kUint8, {2, kPlanes, kRows, kColumns});
    inputs.img = image_history(graph, warped, 0, "state_img_q");
    inputs.big_img = image_history(graph, warped, 1, "state_big_img_q");
    inputs.desire_pulse = desire_history(graph);
    inputs.features_buffer = feature_history(graph);
    inputs.traffic_convention =
        to_half(graph, graph.input("traffic_convention", Element::kFloat32, {1, 2}));
    inputs.action_t = to_half(graph, graph.input("action_t", Element::kFloat32, {1, 2}));
  }
  const Value outputs = graph.node("Cast", {driving_network(graph, inputs)},
                                   {{"to", static_cast<int64_t>(Element::kFloat32)}}, "outputs");
  const HeadSlice features = features_slice();
  const Value hidden = slice_rows(graph, outputs, features.start, features.stop, 1, 1);
  graph.node("Identity", {hidden}, {}, "next_state_prev_feat");
  declare_outputs(graph);
}

}  // namespace modeld::samples
