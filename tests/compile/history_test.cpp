// Histories and states frame by frame against what upstream's code gave its networks
// (data/vectors/history: 130 frames, stand-in sizes, real strides and row counts).
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/base/half.h"
#include "tests/compile/model_runner.h"
#include "tests/support/npz.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"
#include "tools/compile/compile.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::ModelRunner;
using test::Npz;
using test::OnnxBuilder;
using test::TempDir;
using test::Tensors;

constexpr size_t kFrames = 130;

template <typename T>
std::vector<double> doubles(std::span<const T> values) {
  return {values.begin(), values.end()};
}

std::vector<double> values(const HostTensor& tensor) {
  return test::to_doubles(tensor.type.dtype, tensor.bytes);
}

Result<CompiledModel> compile(const std::filesystem::path& onnx, const std::string& pipeline) {
  CompileOptions options;
  options.make_references = false;
  if (!pipeline.empty()) {
    options.pipeline = onnx.parent_path() / "pipeline.toml";
    std::ofstream(*options.pipeline) << pipeline;
  }
  return compile_onnx(onnx, options);
}

// Passes every input through; `hidden` comes from outside so that the test decides it.
OnnxBuilder echo_graph(int64_t features) {
  OnnxBuilder graph(18);
  graph.input("img", DType::kUInt8, {1, 12, 2, 3}).input("big_img", DType::kUInt8, {1, 12, 2, 3});
  graph.input("features_buffer", DType::kFloat32, {1, features, 2});
  graph.input("desire_pulse", DType::kFloat32, {1, 25, 8}).input("h", DType::kFloat32, {1, 2});
  for (const std::string name : {"img", "big_img", "features_buffer", "desire_pulse"}) {
    graph.output("seen_" + name).node("Identity", {name}, {"seen_" + name});
  }
  graph.output("hidden").node("Identity", {"h"}, {"hidden"});
  return graph;
}

HostTensor hidden_state(const Npz& vectors, size_t frame, Shape shape) {
  return make_tensor(DType::kFloat32, std::move(shape),
                     doubles(vectors.row<float>("hidden_state", frame)));
}

Tensors frame_inputs(const Npz& vectors, size_t frame) {
  Tensors inputs;
  inputs["img"] =
      make_tensor(DType::kUInt8, {1, 6, 2, 3}, doubles(vectors.row<uint8_t>("warped", frame)));
  inputs["big_img"] =
      make_tensor(DType::kUInt8, {1, 6, 2, 3}, doubles(vectors.row<uint8_t>("big_warped", frame)));
  inputs["desire_pulse"] =
      make_tensor(DType::kFloat32, {8}, doubles(vectors.row<float>("desire_pulse_in", frame)));
  inputs["h"] = hidden_state(vectors, frame, {1, 2});
  return inputs;
}

void expect_row(const Npz& vectors, const std::string& name, size_t row, const HostTensor& seen) {
  SCOPED_TRACE(name);
  if (seen.type.dtype == DType::kUInt8) {
    EXPECT_EQ(values(seen), doubles(vectors.row<uint8_t>(name, row)));
  } else {
    EXPECT_EQ(values(seen), doubles(vectors.row<float>(name, row)));
  }
}

// Runs all frames and compares what the network saw in the recorded ones.
void expect_histories(const Npz& vectors, ModelRunner& runner, const std::string& prefix) {
  const auto frames = vectors.values<int64_t>("frames");
  size_t row = 0;
  for (size_t frame = 0; frame < kFrames; ++frame) {
    const Tensors seen = runner.run(frame_inputs(vectors, frame));
    if (row == frames.size() || frames[row] != static_cast<int64_t>(frame)) continue;
    SCOPED_TRACE("frame " + std::to_string(frame));
    for (const std::string name : {"img", "big_img", "features_buffer", "desire_pulse"}) {
      expect_row(vectors, name, row, seen.at(prefix + "seen_" + name));
    }
    ++row;
  }
  EXPECT_EQ(row, 11u);
}

constexpr const char* kEraE = R"(
name = "echo"
role = "driving"
[[stage]]
[stage.inputs.img]
history = { axis = 1, size = 6, stride = 4 }
[stage.inputs.big_img]
history = { axis = 1, size = 6, stride = 4 }
[stage.inputs.desire_pulse]
source = "desire_pulse"
history = { axis = 1, stride = 4, reduce = "max" }
[stage.inputs.features_buffer]
feedback = "hidden_state"
history = { axis = 1, stride = 4, delay = 3 }
[stage.inputs.h]
[stage.outputs.hidden]
slices = { hidden_state = [0, 2] }
)";

TEST(History, EraESeesWhatUpstreamSaw) {
  MODELD_NEED_SHARED("data/vectors/history/eraE.npz");
  const Npz vectors(test::shared_path("data/vectors/history/eraE.npz"));
  const TempDir folder;
  const auto compiled = compile(echo_graph(24).save(folder / "echo.onnx"), kEraE);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  ModelRunner runner(compiled->model);
  expect_histories(vectors, runner, "");
  // The buffers after the last frame, too.
  EXPECT_EQ(runner.state("img_history"), doubles(vectors.row<uint8_t>("img_history", 10)));
  EXPECT_EQ(runner.state("features_buffer_history"),
            doubles(vectors.row<float>("features_buffer_history", 10)));
  EXPECT_EQ(runner.state("desire_pulse_history"),
            doubles(vectors.row<float>("desire_pulse_history", 10)));
}

// Era A: every frame counts, and the network hears its own desired curvature again.
constexpr const char* kEraA = R"(
name = "echo"
role = "driving"
[[stage]]
[stage.inputs.input_imgs]
history = { axis = 1, size = 6 }
[stage.inputs.desire]
source = "desire_pulse"
history = { axis = 1 }
[stage.inputs.features_buffer]
feedback = "hidden_state"
history = { axis = 1 }
[stage.inputs.prev_desired_curv]
feedback = "desired_curvature[0:1]"
history = { axis = 1 }
[stage.inputs.h]
[stage.inputs.curvature]
[stage.outputs.hidden]
slices = { hidden_state = [0, 2] }
[stage.outputs.curve]
slices = { desired_curvature = [0, 2] }
)";

TEST(History, EraASeesWhatUpstreamSaw) {
  MODELD_NEED_SHARED("data/vectors/history/eraA.npz");
  const Npz vectors(test::shared_path("data/vectors/history/eraA.npz"));
  OnnxBuilder graph(18);
  graph.input("input_imgs", DType::kFloat32, {1, 12, 2, 3});
  graph.input("desire", DType::kFloat32, {1, 100, 8});
  graph.input("features_buffer", DType::kFloat32, {1, 99, 2});
  graph.input("prev_desired_curv", DType::kFloat32, {1, 100, 1});
  graph.input("h", DType::kFloat32, {1, 2}).input("curvature", DType::kFloat32, {1, 2});
  const std::vector<std::string> names = {"input_imgs", "desire", "features_buffer",
                                          "prev_desired_curv"};
  for (const std::string& name : names) {
    graph.output("seen_" + name).node("Identity", {name}, {"seen_" + name});
  }
  graph.output("hidden").node("Identity", {"h"}, {"hidden"});
  graph.output("curve").node("Identity", {"curvature"}, {"curve"});
  const TempDir folder;
  const auto compiled = compile(graph.save(folder / "echo.onnx"), kEraA);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  ModelRunner runner(compiled->model);
  const auto frames = vectors.values<int64_t>("frames");
  size_t row = 0;
  for (size_t frame = 0; frame < kFrames; ++frame) {
    Tensors inputs;
    inputs["input_imgs"] =
        make_tensor(DType::kFloat32, {1, 6, 2, 3}, doubles(vectors.row<uint8_t>("warped", frame)));
    inputs["desire_pulse"] =
        make_tensor(DType::kFloat32, {8}, doubles(vectors.row<float>("desire_pulse_in", frame)));
    inputs["h"] = hidden_state(vectors, frame, {1, 2});
    // Behind the value lies its log-deviation, which must not be taken for it.
    inputs["curvature"] = make_tensor(DType::kFloat32, {1, 2},
                                      {vectors.row<float>("desired_curvature", frame)[0], -77.0});
    const Tensors seen = runner.run(inputs);
    if (row == frames.size() || frames[row] != static_cast<int64_t>(frame)) continue;
    SCOPED_TRACE("frame " + std::to_string(frame));
    for (const std::string& name : names) expect_row(vectors, name, row, seen.at("seen_" + name));
    ++row;
  }
  EXPECT_EQ(row, 11u);
}

TEST(History, PartOfASliceMustLieInside) {
  for (const std::string part : {"hidden_state[0:3]", "hidden_state[1:1]", "hidden_state[2:1]"}) {
    OnnxBuilder graph(18);
    graph.input("back", DType::kFloat32, {1}).input("h", DType::kFloat32, {1, 2});
    graph.output("hidden").output("seen");
    graph.node("Identity", {"h"}, {"hidden"});
    graph.node("Identity", {"back"}, {"seen"});
    const TempDir folder;
    const auto compiled =
        compile(graph.save(folder / "m.onnx"),
                "name = 'm'\nrole = 'other'\n[[stage]]\n[stage.inputs.back]\nfeedback = '" + part +
                    "'\n[stage.inputs.h]\n[stage.outputs.hidden]\n"
                    "slices = { hidden_state = [0, 2] }\n");
    ASSERT_FALSE(compiled.ok()) << part;
    EXPECT_NE(to_string(compiled.error()).find("stop <= 2"), std::string::npos)
        << to_string(compiled.error());
  }
}

// Era C: the policy network's features include those of the frame itself.
constexpr const char* kEraC = R"(
name = "split"
role = "driving"
[[stage]]
name = "vision"
[stage.inputs.h]
[stage.outputs.hidden]
slices = { hidden_state = [0, 2] }
[[stage]]
name = "policy"
file = "policy.onnx"
[stage.inputs.img]
history = { axis = 1, size = 6, stride = 4 }
[stage.inputs.big_img]
history = { axis = 1, size = 6, stride = 4 }
[stage.inputs.desire_pulse]
source = "desire_pulse"
history = { axis = 1, stride = 4, reduce = "max" }
[stage.inputs.features_buffer]
from = "vision.hidden_state"
history = { axis = 1, stride = 4 }
[stage.inputs.h]
from = "vision.hidden"
)";

TEST(History, EraCFeedsOneStageFromAnother) {
  MODELD_NEED_SHARED("data/vectors/history/eraC.npz");
  const Npz vectors(test::shared_path("data/vectors/history/eraC.npz"));
  const TempDir folder;
  echo_graph(25).save(folder / "policy.onnx");
  OnnxBuilder vision(18);
  vision.input("h", DType::kFloat32, {1, 2}).output("hidden");
  vision.node("Identity", {"h"}, {"hidden"});
  const auto compiled = compile(vision.save(folder / "vision.onnx"), kEraC);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  ModelRunner runner(compiled->model);
  expect_histories(vectors, runner, "policy.");
}

TEST(History, BigModelTakesTwoPartFeatures) {
  MODELD_NEED_SHARED("data/vectors/history/eraE_big.npz");
  const Npz vectors(test::shared_path("data/vectors/history/eraE_big.npz"));
  OnnxBuilder graph(18);
  graph.input("features_buffer", DType::kFloat32, {1, 32, 2, 2}).input("h", DType::kFloat32, {4});
  graph.output("seen").output("hidden");
  graph.node("Identity", {"features_buffer"}, {"seen"});
  graph.node("Identity", {"h"}, {"hidden"});
  const TempDir folder;
  const auto compiled = compile(graph.save(folder / "big.onnx"), R"(
name = "big"
role = "driving"
[[stage]]
[stage.inputs.features_buffer]
feedback = "hidden_state"
history = { axis = 1, stride = 4, delay = 3 }
[stage.inputs.h]
[stage.outputs.hidden]
slices = { hidden_state = [0, 4] }
)");
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  ModelRunner runner(compiled->model);
  const auto frames = vectors.values<int64_t>("frames");
  size_t row = 0;
  for (size_t frame = 0; frame < kFrames; ++frame) {
    const Tensors seen = runner.run({{"h", hidden_state(vectors, frame, {4})}});
    if (row == frames.size() || frames[row] != static_cast<int64_t>(frame)) continue;
    expect_row(vectors, "features_buffer", row++, seen.at("seen"));
  }
  EXPECT_EQ(row, 11u);
}

Tensors era_f_inputs(const Npz& vectors, size_t frame) {
  std::vector<double> warped = doubles(vectors.row<uint8_t>("warped", frame));
  const std::vector<double> wide = doubles(vectors.row<uint8_t>("big_warped", frame));
  warped.insert(warped.end(), wide.begin(), wide.end());
  Tensors inputs;
  inputs["warped"] = make_tensor(DType::kUInt8, {2, 6, 2, 3}, warped);
  inputs["desire"] =
      make_tensor(DType::kFloat32, {8}, doubles(vectors.row<float>("desire_pulse_in", frame)));
  inputs["traffic_convention"] = make_tensor(DType::kFloat32, {1, 2}, {1, 0});
  inputs["action_t"] =
      make_tensor(DType::kFloat32, {1, 2}, {0.25 + static_cast<double>(frame) / 64, 0.5});
  return inputs;
}

TEST(States, EraFPairsAreFoundByName) {
  MODELD_NEED_SHARED("data/vectors/history/eraF_tiny_with_history.onnx");
  const Npz vectors(test::shared_path("data/vectors/history/eraF.npz"));
  const auto compiled =
      compile(test::shared_path("data/vectors/history/eraF_tiny_with_history.onnx"), "");
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const Model& model = compiled->model;
  EXPECT_EQ(model.contract.states.size(), 5u);
  ASSERT_EQ(model.contract.outputs.size(), 1u);
  ASSERT_NE(model.contract.outputs[0].find_slice("hidden_state"), nullptr);
  EXPECT_EQ(model.contract.outputs[0].find_slice("hidden_state")->start, 4);
  ModelRunner runner(model);
  const auto frames = vectors.values<int64_t>("frames");
  size_t row = 0;
  for (size_t frame = 0; frame < kFrames; ++frame) {
    SCOPED_TRACE("frame " + std::to_string(frame));
    const Tensors outputs = runner.run(era_f_inputs(vectors, frame));
    EXPECT_EQ(values(outputs.at("outputs")), doubles(vectors.row<float>("all_outputs", frame)));
    if (row == frames.size() || frames[row] != static_cast<int64_t>(frame)) continue;
    EXPECT_EQ(runner.state("state_img_q"), doubles(vectors.row<uint8_t>("after.state_img_q", row)));
    for (const std::string name : {"state_desire_q", "state_feat_q", "state_prev_feat"}) {
      EXPECT_EQ(runner.state(name), doubles(vectors.row<float>("after." + name, row))) << name;
    }
    ++row;
  }
  EXPECT_EQ(row, 11u);
}

TEST(States, PairsOfOtherTypesAreRefused) {
  OnnxBuilder graph(18);
  graph.input("state_a", DType::kFloat32, {2}).input("x", DType::kFloat32, {3});
  graph.output("next_a").output("y");
  graph.node("Relu", {"x"}, {"next_a"});
  graph.node("Abs", {"state_a"}, {"y"});
  const TempDir folder;
  const auto compiled = compile(graph.save(folder / "m.onnx"), "");
  ASSERT_FALSE(compiled.ok());
  EXPECT_NE(to_string(compiled.error()).find("f32[2]"), std::string::npos)
      << to_string(compiled.error());
}

}  // namespace
}  // namespace modeld::compile
