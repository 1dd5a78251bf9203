#include "tests/daemon/support/model_contracts.h"

#include <limits>
#include <utility>

namespace modeld::test {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

InputContract input(std::string name, InputRole role, std::string source, TensorType type) {
  return {std::move(name), role, std::move(source), std::move(type)};
}

CameraContract camera(std::string frame, std::string transform, std::string layout,
                      FrameSize output) {
  CameraContract made;
  made.frame_input = std::move(frame);
  made.transform_input = std::move(transform);
  made.sizes = {{1344, 760}};
  made.layout = std::move(layout);
  made.output_size = output;
  made.pixel_range = "full";
  made.colour_matrix = "none";
  return made;
}

OutputContract output_of(const std::vector<std::pair<std::string, int64_t>>& heads) {
  OutputContract output;
  output.name = "outputs";
  int64_t at = 0;
  for (const auto& [name, width] : heads) {
    output.slices.push_back({name, at, at + width, -kAny, kAny, name != "pad", {}});
    at += width;
  }
  output.type = {DType::kFloat32, {1, at}};
  return output;
}

}  // namespace

Contract driving_contract() {
  Contract contract;
  contract.name = "scripted driving";
  contract.role = ModelRole::kDriving;
  contract.device_classes = {DeviceClass::kCpu};
  const TensorType frame{DType::kNv12, {}};
  const TensorType matrix{DType::kFloat32, {3, 3}};
  contract.inputs = {input("img_frame", InputRole::kFrame, "narrow_road", frame),
                     input("big_img_frame", InputRole::kFrame, "wide_road", frame),
                     input("tfm", InputRole::kTransform, "narrow_road_transform", matrix),
                     input("big_tfm", InputRole::kTransform, "wide_road_transform", matrix),
                     input("desire", InputRole::kVector, "desire_pulse", {DType::kFloat32, {1, 8}}),
                     input("traffic_convention", InputRole::kVector, "traffic_convention",
                           {DType::kFloat32, {1, 2}}),
                     input("action_t", InputRole::kVector, "action_t", {DType::kFloat32, {1, 2}})};
  contract.cameras = {camera("img_frame", "tfm", "yuv420_planes", {512, 256}),
                      camera("big_img_frame", "big_tfm", "yuv420_planes", {512, 256})};
  contract.outputs = {output_of({{"lane_lines", 528},
                                 {"lane_lines_prob", 8},
                                 {"road_edges", 264},
                                 {"meta", 55},
                                 {"desire_pred", 32},
                                 {"pose", 12},
                                 {"wide_from_device_euler", 6},
                                 {"road_transform", 12},
                                 {"plan", 990},
                                 {"lead", 144},
                                 {"lead_prob", 3},
                                 {"desire_state", 8},
                                 {"action", 4},
                                 {"hidden_state", 512},
                                 {"pad", 2}})};
  return contract;
}

Contract monitoring_contract() {
  Contract contract;
  contract.name = "scripted monitoring";
  contract.role = ModelRole::kMonitoring;
  contract.device_classes = {DeviceClass::kCpu};
  contract.inputs = {
      input("frame", InputRole::kFrame, "cabin", {DType::kNv12, {}}),
      input("tfm", InputRole::kTransform, "cabin_transform", {DType::kFloat32, {3, 3}}),
      input("calib", InputRole::kVector, "calibration", {DType::kFloat32, {1, 3}})};
  contract.cameras = {camera("frame", "tfm", "luma", {1440, 960})};
  contract.cameras[0].border_fill = 16;
  std::vector<std::pair<std::string, int64_t>> heads = {{"wheel_on_right", 1}};
  for (const char* side : {"lhd", "rhd"}) {
    const auto head = [&](const char* name) { return std::string(name) + "_" + side; };
    heads.emplace_back(head("face_descs"), 12);
    for (const char* name :
         {"face_prob", "left_eye_prob", "right_eye_prob", "left_blink_prob", "right_blink_prob",
          "sunglasses_prob", "using_phone_prob", "sleep_prob"}) {
      heads.emplace_back(head(name), 1);
    }
  }
  contract.outputs = {output_of(heads)};
  return contract;
}

Model model_of(Contract contract) {
  Model model;
  model.contract = std::move(contract);
  model.weights = std::make_shared<MemoryWeights>(std::vector<std::byte>{});
  return model;
}

}  // namespace modeld::test
