#include "tools/samples/sample_network.h"

#include <array>
#include <span>
#include <utility>

#include "runtime/base/file.h"
#include "tools/samples/driving_network.h"
#include "tools/samples/graph_builder.h"
#include "tools/samples/history.h"
#include "tools/samples/monitoring_network.h"
#include "tools/samples/output_slices.h"

namespace modeld::samples {
namespace {

constexpr std::array<std::pair<SampleKind, std::string_view>, 6> kNames{
    {{SampleKind::kDriving, "driving"},
     {SampleKind::kDrivingStateful, "driving-stateful"},
     {SampleKind::kDrivingVision, "driving-vision"},
     {SampleKind::kDrivingPolicy, "driving-policy"},
     {SampleKind::kDrivingSmall, "driving-small"},
     {SampleKind::kMonitoring, "monitoring"}}};

void add_metadata(GraphBuilder& graph, std::span<const HeadSlice> slices, SampleKind kind) {
  graph.metadata("output_slices", encode_output_slices(slices));
  graph.metadata("model_checkpoint", "modeld-sample-" + std::string(to_string(kind)) + "/1");
}

void build_driving(GraphBuilder& graph, Value (*network)(GraphBuilder&, const DrivingInputs&)) {
  DrivingInputs inputs;
  const Dims image{1, 12, 128, 256};
  inputs.img = graph.input("img", Element::kUint8, image);
  inputs.big_img = graph.input("big_img", Element::kUint8, image);
  inputs.desire_pulse = graph.input("desire_pulse", Element::kFloat16, {1, kDrivingSteps, 8});
  inputs.traffic_convention = graph.input("traffic_convention", Element::kFloat16, {1, 2});
  inputs.action_t = graph.input("action_t", Element::kFloat16, {1, 2});
  inputs.features_buffer =
      graph.input("features_buffer", Element::kFloat16, {1, kDrivingSteps - 1, kDrivingFeatures});
  graph.node("Identity", {network(graph, inputs)}, {}, "outputs");
  graph.output("outputs", Element::kFloat16, {1, kDrivingOutputs});
}

int64_t total_of(std::span<const HeadSlice> slices) {
  return slices.back().stop;
}

void build_driving_vision(GraphBuilder& graph) {
  const Dims image{1, 12, 128, 256};
  const Value img = graph.input("img", Element::kUint8, image);
  const Value big_img = graph.input("big_img", Element::kUint8, image);
  graph.node("Identity", {driving_vision_network(graph, img, big_img)}, {}, "outputs");
  graph.output("outputs", Element::kFloat16, {1, total_of(driving_vision_slices())});
}

void build_driving_policy(GraphBuilder& graph) {
  DrivingPolicyInputs inputs;
  inputs.desire_pulse = graph.input("desire_pulse", Element::kFloat16, {1, kDrivingSteps, 8});
  inputs.traffic_convention = graph.input("traffic_convention", Element::kFloat16, {1, 2});
  inputs.action_t = graph.input("action_t", Element::kFloat16, {1, 2});
  inputs.features_buffer =
      graph.input("features_buffer", Element::kFloat16, {1, kDrivingSteps, kDrivingFeatures});
  graph.node("Identity", {driving_policy_network(graph, inputs)}, {}, "outputs");
  graph.output("outputs", Element::kFloat16, {1, total_of(driving_policy_slices())});
}

void build_monitoring(GraphBuilder& graph) {
  const Value image =
      graph.input("input_img", Element::kUint8, {1, kMonitoringWidth * kMonitoringHeight});
  const Value calib = graph.input("calib", Element::kFloat32, {1, 3});
  graph.node("Identity", {monitoring_network(graph, image, calib)}, {}, "outputs");
  graph.output("outputs", Element::kFloat16, {1, kMonitoringOutputs});
}

}  // namespace

std::string_view to_string(SampleKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return {};
}

std::optional<SampleKind> parse_sample_kind(std::string_view text) {
  for (const auto& [kind, name] : kNames) {
    if (name == text) return kind;
  }
  return std::nullopt;
}

std::vector<std::string_view> sample_kind_names() {
  std::vector<std::string_view> names;
  for (const auto& entry : kNames) names.push_back(entry.second);
  return names;
}

std::string make_sample(SampleKind kind) {
  GraphBuilder graph(to_string(kind));
  switch (kind) {
    case SampleKind::kDriving:
      build_driving(graph, driving_network);
      add_metadata(graph, driving_slices(), kind);
      break;
    case SampleKind::kDrivingStateful:
      driving_network_with_history(graph);
      add_metadata(graph, driving_slices(), kind);
      break;
    case SampleKind::kDrivingVision:
      build_driving_vision(graph);
      add_metadata(graph, driving_vision_slices(), kind);
      break;
    case SampleKind::kDrivingPolicy:
      build_driving_policy(graph);
      add_metadata(graph, driving_policy_slices(), kind);
      break;
    case SampleKind::kDrivingSmall:
      build_driving(graph, small_driving_network);
      add_metadata(graph, driving_slices(), kind);
      break;
    case SampleKind::kMonitoring:
      build_monitoring(graph);
      add_metadata(graph, monitoring_slices(), kind);
      break;
  }
  return graph.serialise();
}

Status write_sample(SampleKind kind, const std::filesystem::path& path) {
  const std::string bytes = make_sample(kind);
  return write_file_atomically(path, std::as_bytes(std::span(bytes)));
}

}  // namespace modeld::samples
