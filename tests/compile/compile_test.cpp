// Whole files to models: the real networks, the shipped pipelines, what ends up in the contract,
// and that compiling twice gives the same.
#include "tools/compile/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "runtime/program/expand.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"

namespace modeld::compile {
namespace {

using test::make_tensor;
using test::OnnxBuilder;
using test::TempDir;

CompileOptions quick() {
  CompileOptions options;
  options.make_references = false;
  return options;
}

std::filesystem::path shipped(const std::string& name) {
  return std::filesystem::path(MODELD_SOURCE_ROOT) / "config/pipelines" / name;
}

// Those inside compound ops count.
size_t count(const Model& model, OpKind kind) {
  const std::vector<Op> ops = expanded(model.program).ops;
  return static_cast<size_t>(
      std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.kind == kind; }));
}

size_t with_attribute(const Model& model, std::string_view name) {
  const auto& ops = model.program.ops;
  return static_cast<size_t>(
      std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.attributes.has(name); }));
}

void expect_refusal(const Result<CompiledModel>& compiled, const std::string& word) {
  ASSERT_FALSE(compiled.ok()) << word;
  EXPECT_NE(to_string(compiled.error()).find(word), std::string::npos)
      << to_string(compiled.error());
}

class RealNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(RealNetwork, Compiles) {
  const std::string path = std::string("data/models/") + GetParam() + ".onnx";
  MODELD_NEED_SHARED(path);
  const auto compiled = compile_onnx(test::shared_path(path), quick());
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const Model& model = compiled->model;
  EXPECT_EQ(model.contract.name, GetParam());
  EXPECT_EQ(model.contract.source_sha256.size(), 64u);
  EXPECT_EQ(count(model, OpKind::kRelu), 0u) << "every Relu follows something it can be fused to";
}

INSTANTIATE_TEST_SUITE_P(Models, RealNetwork,
                         ::testing::Values("dm-2020-05", "dm-2021-06", "dm-2021-06-fp16",
                                           "dm-2021-08", "squeezenet-fp16", "twinlitenet",
                                           "ultraface-rfb320", "vit-tracker", "yolox_nano"),
                         [](const auto& network) {
                           std::string name = network.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

Model compiled_network(const std::string& name) {
  auto compiled = compile_onnx(test::shared_path("data/models/" + name + ".onnx"), quick());
  EXPECT_TRUE(compiled.ok()) << to_string(compiled.error());
  return compiled.ok() ? std::move(compiled->model) : Model{};
}

TEST(RealNetworks, BatchNormalisationIsFolded) {
  MODELD_NEED_SHARED("data/models/dm-2021-08.onnx");
  const Model folded = compiled_network("dm-2021-08");
  EXPECT_EQ(count(folded, OpKind::kBatchNormalization), 0u);
  EXPECT_EQ(count(folded, OpKind::kConv), 35u);
  EXPECT_EQ(count(folded, OpKind::kGemm), 23u);
  // All 34 Relus and all 10 Sigmoids (facts: test material) are part of a Conv or Gemm.
  EXPECT_EQ(count(folded, OpKind::kAdd), 0u);
  EXPECT_EQ(with_attribute(folded, "activation"), 44u);
  // dm-2021-06 is the same network folded by its authors.
  EXPECT_EQ(compiled_network("dm-2021-06").program.ops.size(), folded.program.ops.size());
}

TEST(RealNetworks, LayoutTransposesVanish) {
  MODELD_NEED_SHARED("data/models/dm-2020-05.onnx");
  const Model model = compiled_network("dm-2020-05");
  EXPECT_LE(count(model, OpKind::kTranspose), 1u);  // 13 in the file
  EXPECT_EQ(count(model, OpKind::kMatMul), 0u);
  EXPECT_EQ(count(model, OpKind::kGemm), 11u);
}

TEST(RealNetworks, SpelledOutActivationsAreRecognised) {
  MODELD_NEED_SHARED("data/models/vit-tracker.onnx");
  EXPECT_EQ(count(compiled_network("vit-tracker"), OpKind::kErf), 0u);
  const Model yolox = compiled_network("yolox_nano");
  EXPECT_EQ(count(yolox, OpKind::kMul), 0u);  // 104 in the file, all of them x * sigmoid(x)
}

TEST(RealNetworks, OpenExtentsAreRefusedUnlessGiven) {
  MODELD_NEED_SHARED("data/models/byte-bilstm.onnx");
  const auto path = test::shared_path("data/models/byte-bilstm.onnx");
  expect_refusal(compile_onnx(path, quick()), "dynamic shape");
  CompileOptions options = quick();
  options.input_shapes["input"] = {1, 8};
  EXPECT_TRUE(compile_onnx(path, options).ok());
  options.input_shapes["input"] = {1, 8, 1};
  expect_refusal(compile_onnx(path, options), "does not fit");
}

// Shipped pipelines -------------------------------------------------------------------------------

// The inputs of era E (facts 4.4), and one value out of each.
OnnxBuilder era_e_network(DType dtype) {
  OnnxBuilder graph(18);
  graph.input("img", DType::kUInt8, {1, 12, 128, 256});
  graph.input("big_img", DType::kUInt8, {1, 12, 128, 256});
  graph.input("desire_pulse", dtype, {1, 25, 8}).input("features_buffer", dtype, {1, 24, 4});
  graph.input("traffic_convention", dtype, {1, 2}).input("action_t", dtype, {1, 2});
  const int64_t number = test::onnx_number(dtype);
  graph.ints("axes", {1}).ints("picture", {1, 2, 3}).ints("flat", {1, -1});
  graph.constant("scale", make_tensor(dtype, {}, {0.01}));
  for (const std::string name : {"img", "big_img"}) {
    graph.node("Cast", {name}, {name + "_f"}).with("to", number);
    graph.node("Mul", {name + "_f", "scale"}, {name + "_s"});
    graph.node("ReduceMean", {name + "_s", "picture"}, {name + "_m"}).with("keepdims", 0);
    graph.node("Reshape", {name + "_m", "flat"}, {name + "_v"});
  }
  graph.node("ReduceMean", {"desire_pulse", "axes"}, {"desire_v"}).with("keepdims", 0);
  graph.node("ReduceMean", {"features_buffer", "axes"}, {"features_v"}).with("keepdims", 0);
  graph
      .node("Concat",
            {"img_v", "big_img_v", "desire_v", "features_v", "traffic_convention", "action_t"},
            {"outputs"})
      .with("axis", 1);
  graph.output("outputs");
  // {'first': slice(0, 10), 'past': slice(10, 14), 'hidden_state': slice(14, 18)} by Python's
  // pickle, protocol 0.
  graph.metadata("output_slices",
                 "KGRwMApWZmlyc3QKcDEKY19fYnVpbHRpbl9fCnNsaWNlCnAyCihJMApJMTAKTnRwMwpScDQKc1Zw\n"
                 "YXN0CnA1CmcyCihJMTAKSTE0Ck50cDYKUnA3CnNWaGlkZGVuX3N0YXRlCnA4CmcyCihJMTQKSTE4\n"
                 "Ck50cDkKUnAxMApzLg==\n");
  return graph;
}

TEST(ShippedPipelines, DrivingContract) {
  const TempDir folder;
  CompileOptions options;
  options.pipeline = shipped("driving.toml");
  const auto compiled =
      compile_onnx(era_e_network(DType::kFloat16).save(folder / "driving.onnx"), options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const Contract& contract = compiled->model.contract;
  EXPECT_EQ(contract.role, ModelRole::kDriving);
  for (const char* name :
       {"narrow_road", "wide_road", "narrow_road_transform", "wide_road_transform", "desire_pulse",
        "traffic_convention", "action_t"}) {
    const InputContract* input = contract.find_input(name);
    ASSERT_NE(input, nullptr) << name;
    EXPECT_EQ(input->source, name);
  }
  EXPECT_EQ(contract.inputs.size(), 7u);
  EXPECT_EQ(contract.find_input("desire_pulse")->type, (TensorType{DType::kFloat32, {8}}));
  ASSERT_EQ(contract.cameras.size(), 2u);
  EXPECT_EQ(contract.find_camera("wide_road")->transform_input, "wide_road_transform");
  // img, big_img, desire and feature buffers, and the previous hidden state.
  EXPECT_EQ(contract.states.size(), 5u);
  ASSERT_EQ(contract.outputs.size(), 1u);
  EXPECT_EQ(contract.outputs[0].type, (TensorType{DType::kFloat32, {1, 18}}));
  EXPECT_TRUE(std::is_sorted(compiled->model.program.ops.begin(), compiled->model.program.ops.end(),
                             [](const Op& a, const Op& b) { return a.phase < b.phase; }));
}

TEST(ShippedPipelines, DrivingReferences) {
  const TempDir folder;
  CompileOptions options;
  options.pipeline = shipped("driving.toml");
  const auto compiled =
      compile_onnx(era_e_network(DType::kFloat32).save(folder / "driving.onnx"), options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const Contract& contract = compiled->model.contract;
  ASSERT_EQ(contract.references.size(), 2u);
  EXPECT_EQ(contract.references[0].steps, 3u);
  EXPECT_NE(contract.references[0].outputs, contract.references[1].outputs);
  ASSERT_EQ(contract.outputs[0].slices.size(), 3u);
  const OutputSlice& first = contract.outputs[0].slices[0];
  EXPECT_TRUE(first.varies);
  ASSERT_EQ(first.tolerances.size(), 3u);
  EXPECT_GE(first.tolerances[0].absolute, 0.5e-4);
  EXPECT_LE(first.tolerances[0].absolute, 1e-3);
  // After three frames the features of four frames ago are still zero.
  EXPECT_FALSE(contract.outputs[0].slices[1].varies);
}

TEST(ShippedPipelines, DrivingStatefulContract) {
  OnnxBuilder graph(18);
  graph.input("warped", DType::kUInt8, {2, 6, 128, 256}).input("desire", DType::kFloat32, {8});
  graph.input("traffic_convention", DType::kFloat32, {1, 2})
      .input("action_t", DType::kFloat32, {1, 2});
  graph.input("state_prev_feat", DType::kFloat32, {1, 2});
  graph.ints("axes", {1, 2, 3}).ints("row", {1, 2});
  graph.node("Cast", {"warped"}, {"w"}).with("to", 1);
  graph.node("ReduceMean", {"w", "axes"}, {"m"}).with("keepdims", 0);
  graph.node("Reshape", {"m", "row"}, {"next_state_prev_feat"});
  graph.node("Concat", {"state_prev_feat", "traffic_convention", "action_t"}, {"outputs"})
      .with("axis", 1);
  graph.output("outputs").output("next_state_prev_feat");
  const TempDir folder;
  CompileOptions options;
  options.pipeline = shipped("driving_stateful.toml");
  const auto compiled = compile_onnx(graph.save(folder / "m.onnx"), options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const Contract& contract = compiled->model.contract;
  ASSERT_EQ(contract.states.size(), 1u);
  EXPECT_EQ(contract.states[0].name, "state_prev_feat");
  ASSERT_EQ(contract.outputs.size(), 1u);
  EXPECT_EQ(contract.cameras.size(), 2u);
}

TEST(ShippedPipelines, MonitoringContract) {
  OnnxBuilder graph(18);
  graph.input("input_img", DType::kUInt8, {1, 1382400}).input("calib", DType::kFloat32, {1, 3});
  graph.ints("axes", {1});
  graph.node("Cast", {"input_img"}, {"f"}).with("to", 1);
  graph.node("ReduceMean", {"f", "axes"}, {"m"});
  graph.node("Concat", {"m", "calib"}, {"outputs"}).with("axis", 1);
  graph.output("outputs");
  const TempDir folder;
  CompileOptions options;
  options.pipeline = shipped("monitoring.toml");
  const auto compiled = compile_onnx(graph.save(folder / "m.onnx"), options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const Contract& contract = compiled->model.contract;
  EXPECT_EQ(contract.role, ModelRole::kMonitoring);
  ASSERT_EQ(contract.cameras.size(), 1u);
  EXPECT_EQ(contract.cameras[0].border_fill, 16);
  EXPECT_EQ(contract.find_input("calibration")->type, (TensorType{DType::kFloat32, {3}}));
}

// Refusals of whole compiles ----------------------------------------------------------------------

Result<CompiledModel> with_pipeline(const OnnxBuilder& graph, const std::string& text) {
  const TempDir folder;
  CompileOptions options = quick();
  options.pipeline = folder / "p.toml";
  std::ofstream(*options.pipeline) << text;
  return compile_onnx(graph.save(folder / "m.onnx"), options);
}

OnnxBuilder relu_graph(const Shape& shape) {
  OnnxBuilder graph(18);
  graph.input("x", DType::kFloat32, shape).output("y").node("Relu", {"x"}, {"y"});
  return graph;
}

TEST(Compile, PipelineAndGraphMustAgree) {
  const std::string head = "name = 'm'\nrole = 'other'\n[[stage]]\n";
  expect_refusal(with_pipeline(relu_graph({4}), head), "graph input 'x' has no entry");
  expect_refusal(with_pipeline(relu_graph({4}), head + "[stage.inputs.x]\n[stage.inputs.z]\n"),
                 "line 5: the graph has no input 'z'");
  expect_refusal(with_pipeline(relu_graph({4}), head + "[stage.inputs.x]\nsource = 'action_t'\n"),
                 "has another size");
  expect_refusal(
      with_pipeline(relu_graph({4}), head + "[stage.inputs.x]\nhistory = { axis = 1 }\n"),
      "history does not fit");
  expect_refusal(
      with_pipeline(relu_graph({4}), head + "[stage.inputs.x]\n[ranges]\nplan = [0, 1]\n"),
      "no output slice");
  expect_refusal(with_pipeline(relu_graph({4}), head + "[stage.inputs.x]\n[stage.outputs.y]\n"
                                                       "slices = { a = [0, 3], b = [2, 4] }\n"),
                 "slice 'b'");
  expect_refusal(with_pipeline(relu_graph({4}), head + "[stage.inputs.x]\nfeedback = 'plan'\n"),
                 "no output or slice 'plan'");
}

TEST(Compile, SlicesWithGapsAreFilled) {
  const auto compiled =
      with_pipeline(relu_graph({4}),
                    "name = 'm'\nrole = 'other'\n[[stage]]\n[stage.inputs.x]\n"
                    "[stage.outputs.y]\nslices = { a = [1, 2] }\n[ranges]\na = [-5, 5]\n");
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  const OutputContract& output = compiled->model.contract.outputs[0];
  ASSERT_EQ(output.slices.size(), 3u);
  EXPECT_EQ(output.slices[0].name, "unnamed_0");
  EXPECT_EQ(output.slices[1].name, "a");
  EXPECT_EQ(output.slices[1].maximum, 5);
  EXPECT_EQ(output.slices[2].stop, 4);
}

TEST(Compile, ScaleAndOffset) {
  const auto compiled = with_pipeline(relu_graph({4}),
                                      "name = 'm'\nrole = 'other'\n[[stage]]\n[stage.inputs.x]\n"
                                      "scale = 0.5\noffset = -1.0\n");
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  EXPECT_EQ(count(compiled->model, OpKind::kMul), 1u);
  EXPECT_EQ(count(compiled->model, OpKind::kAdd), 1u);
}

TEST(Compile, FrozenInputsBecomeConstants) {
  OnnxBuilder graph(18);
  graph.input("x", DType::kFloat32, {4}).input("shape", DType::kInt64, {2}).output("y");
  graph.node("Reshape", {"x", "shape"}, {"y"});
  const TempDir folder;
  const auto path = graph.save(folder / "m.onnx");
  expect_refusal(compile_onnx(path, quick()), "depends on run-time values");
  CompileOptions options = quick();
  const HostTensor shape = make_tensor(DType::kInt64, {2}, {2, 2});
  options.frozen_inputs["shape"] = {shape.type, shape.bytes};
  const auto compiled = compile_onnx(path, options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  EXPECT_EQ(compiled->model.contract.inputs.size(), 1u);
  EXPECT_EQ(compiled->model.contract.outputs[0].type.shape, (Shape{2, 2}));
  options.frozen_inputs["shape"].bytes.pop_back();
  expect_refusal(compile_onnx(path, options), "value for input 'shape' does not fit");
  options.frozen_inputs.clear();
  options.frozen_inputs["other"] = {shape.type, shape.bytes};
  expect_refusal(compile_onnx(path, options), "no graph input 'other'");
}

TEST(Compile, OutputsThatAreInputsOrConstantsAreCopies) {
  OnnxBuilder graph(18);
  graph.input("x", DType::kFloat32, {2}).output("same").output("again").output("fixed");
  graph.node("Identity", {"x"}, {"same"});
  graph.node("Identity", {"x"}, {"again"});
  graph.node("Constant", {}, {"fixed"})
      .with_tensor("value", make_tensor(DType::kFloat32, {1}, {3}));
  const TempDir folder;
  const auto compiled = compile_onnx(graph.save(folder / "m.onnx"), quick());
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  EXPECT_EQ(compiled->model.program.ops.size(), 3u);
  EXPECT_EQ(compiled->model.contract.outputs[2].name, "fixed");
}

TEST(Compile, EqualConstantsShareAPlace) {
  OnnxBuilder graph(18);
  graph.input("x", DType::kFloat32, {2}).output("y");
  graph.floats("a", {2}, {1, 2}).floats("b", {2}, {1, 2}).floats("c", {2}, {3, 4});
  graph.node("Mul", {"x", "a"}, {"u"});
  graph.node("Sub", {"u", "b"}, {"v"});
  graph.node("Mul", {"v", "c"}, {"y"});
  const TempDir folder;
  const auto compiled = compile_onnx(graph.save(folder / "m.onnx"), quick());
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  EXPECT_EQ(compiled->model.weights->size(), 256u + 8u);
}

TEST(Compile, TwiceGivesTheSame) {
  MODELD_NEED_SHARED("data/models/dm-2020-05.onnx");
  const auto path = test::shared_path("data/models/dm-2020-05.onnx");
  const auto first = compile_onnx(path);
  const auto second = compile_onnx(path);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->model.contract, second->model.contract);
  ASSERT_EQ(first->model.weights->size(), second->model.weights->size());
  std::vector<std::byte> a(first->model.weights->size());
  std::vector<std::byte> b(a.size());
  ASSERT_TRUE(first->model.weights->read(0, a).ok());
  ASSERT_TRUE(second->model.weights->read(0, b).ok());
  EXPECT_EQ(a, b);
  ASSERT_EQ(first->model.program.ops.size(), second->model.program.ops.size());
  for (size_t i = 0; i < first->model.program.ops.size(); ++i) {
    EXPECT_EQ(first->model.program.ops[i].inputs, second->model.program.ops[i].inputs);
    EXPECT_EQ(first->model.program.ops[i].attributes, second->model.program.ops[i].attributes);
  }
}

TEST(Compile, ConstantSlicesDoNotClaimToVary) {
  OnnxBuilder graph(18);
  graph.input("x", DType::kFloat32, {4}).output("y").floats("zero", {}, {0}).floats("one", {}, {1});
  graph.node("Clip", {"x", "zero", "zero"}, {"c"});
  graph.node("Add", {"c", "one"}, {"y"});
  const TempDir folder;
  const auto compiled = compile_onnx(graph.save(folder / "m.onnx"));
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.error());
  EXPECT_FALSE(compiled->model.contract.outputs[0].slices[0].varies);
}

TEST(Compile, OutputsThatAreNotFiniteAreRefused) {
  OnnxBuilder graph(18);
  graph.input("x", DType::kFloat32, {4}).output("y").node("Log", {"x"}, {"y"});
  const TempDir folder;
  expect_refusal(compile_onnx(graph.save(folder / "m.onnx")), "'y' is not finite");
}

TEST(Compile, FiftyThousandNodesEndInBoundedTime) {
  OnnxBuilder graph(18);
  graph.input("x", DType::kFloat32, {1});
  std::string from = "x";
  for (int i = 0; i < 50'000; ++i) {
    const std::string to = "v" + std::to_string(i);
    graph.node(i % 2 == 0 ? "Relu" : "Abs", {from}, {to});
    from = to;
  }
  graph.output(from);
  const TempDir folder;
  const auto path = graph.save(folder / "m.onnx");
  const std::clock_t start = std::clock();
  const auto compiled = compile_onnx(path, quick());
  EXPECT_TRUE(compiled.ok()) << to_string(compiled.error());
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 30);
}

}  // namespace
}  // namespace modeld::compile
