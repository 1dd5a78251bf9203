#include "tests/support/tiny_model.h"

#include <cstring>
#include <limits>

namespace modeld::test {
namespace {

constexpr WeightRef kMatrix{0, 2048};
constexpr WeightRef kInitial{2048, 16};

const TensorType kRow{DType::kFloat32, {1, 4}};

Op make_op(OpKind kind, std::string name, std::vector<TensorId> inputs, TensorId output,
           Phase phase = Phase::kModel) {
  Op op;
  op.kind = kind;
  op.name = std::move(name);
  op.inputs = std::move(inputs);
  op.outputs = {output};
  op.phase = phase;
  return op;
}

Program tiny_program() {
  Program program;
  program.tensors = {
      {"camera", {DType::kNv12, {}}, std::nullopt},
      {"transform", {DType::kFloat32, {3, 3}}, std::nullopt},
      {"x", kRow, std::nullopt},
      {"warped", {DType::kUInt8, {8, 16}}, std::nullopt},
      {"picture", {DType::kFloat32, {8, 16}}, std::nullopt},
      {"flat", {DType::kFloat32, {1, 128}}, std::nullopt},
      {"w", {DType::kFloat32, {128, 4}}, kMatrix},
      {"product", kRow, std::nullopt},
      {"sum", kRow, std::nullopt},
      {"state", kRow, std::nullopt},
      {"y", kRow, std::nullopt},
  };
  Op warp = make_op(OpKind::kWarp, "warp", {0, 1}, 3, Phase::kWarp);
  warp.attributes.set("layout", std::string("luma"));
  warp.attributes.set("out_width", int64_t{16});
  warp.attributes.set("out_height", int64_t{8});
  warp.attributes.set("border_fill", int64_t{16});
  Op cast = make_op(OpKind::kCast, "cast", {3}, 4);
  cast.attributes.set("to", std::string("f32"));
  Op flatten = make_op(OpKind::kReshape, "flatten", {4}, 5);
  flatten.attributes.set("shape", std::vector<int64_t>{1, 128});
  program.ops = {warp,
                 cast,
                 flatten,
                 make_op(OpKind::kMatMul, "head", {5, 6}, 7),
                 make_op(OpKind::kAdd, "add_x", {7, 2}, 8),
                 make_op(OpKind::kAdd, "add_state", {8, 9}, 10)};
  program.inputs = {0, 1, 2};
  program.outputs = {10};
  program.states = {{.current = 9, .next = 10, .initial = kInitial}};
  return program;
}

Contract tiny_contract() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Contract contract;
  contract.name = "tiny";
  contract.role = ModelRole::kMonitoring;
  contract.source_sha256 = std::string(64, 'a');
  contract.opsets = {{"", 18}};
  contract.compiler_version = "test";
  contract.checkpoint = "checkpoint/1";
  contract.device_classes = {DeviceClass::kCpu, DeviceClass::kGpu};
  contract.inputs = {
      {"camera", InputRole::kFrame, "cabin", {DType::kNv12, {}}},
      {"transform", InputRole::kTransform, "cabin_transform", {DType::kFloat32, {3, 3}}},
      {"x", InputRole::kVector, "", kRow}};
  OutputSlice head{"head", 0, 3, -kInfinity, kInfinity, true, {}};
  head.tolerances = {{DeviceClass::kCpu, 1e-5, 1e-4}, {DeviceClass::kGpu, 1e-3, 1e-3}};
  contract.outputs = {{"y", kRow, {head, {"tail", 3, 4, -1e6, 1e6, false, {}}}}};
  contract.states = {{"state", "start"}};
  CameraContract camera;
  camera.frame_input = "camera";
  camera.transform_input = "transform";
  camera.sizes = {{1928, 1208}, {1344, 760}};
  camera.layout = "luma";
  camera.output_size = {16, 8};
  camera.border_fill = 16;
  camera.pixel_range = "full";
  camera.colour_matrix = "none";
  contract.cameras = {camera};
  contract.references = {{1, 2, {std::vector<std::byte>(16, std::byte{7})}},
                         {2, 2, {std::vector<std::byte>(16, std::byte{9})}}};
  contract.acceptances = {{"cpu", DeviceClass::kCpu, "a processor", 12.5, 1'700'000'000}};
  return contract;
}

std::vector<std::byte> tiny_weights() {
  std::vector<std::byte> bytes(kTinyWeightsBytes);
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float value = 0.001f * static_cast<float>(i % 37) - 0.01f;
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof value);
  }
  return bytes;
}

}  // namespace

Model tiny_model() {
  return {tiny_contract(), tiny_program(), std::make_shared<MemoryWeights>(tiny_weights())};
}

}  // namespace modeld::test
