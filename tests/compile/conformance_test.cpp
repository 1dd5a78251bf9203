// The importer against the ONNX project's own single-operator cases (opsets 7 and up): each case is
// compiled, run on the reference backend and compared with the outputs stored beside it. Cases of
// ops that are not imported must be refused by name, not fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "tests/compile/model_runner.h"
#include "tests/support/program_builder.h"
#include "tests/support/test_data.h"
#include "tools/compile/compile.h"
#include "tools/compile/onnx_graph.h"
#include "tools/compile/onnx_tensor.h"

namespace modeld::compile {
namespace {

// Inputs that decide shapes: known at build time (architecture: frozen to the case's values).
const std::map<std::string, std::set<size_t>> kParameters = {
    {"ConstantOfShape", {0}}, {"Dropout", {1, 2}}, {"Expand", {1}},       {"Pad", {1, 2, 3}},
    {"Range", {0, 1, 2}},     {"ReduceL1", {1}},   {"ReduceL2", {1}},     {"ReduceMax", {1}},
    {"ReduceMean", {1}},      {"ReduceMin", {1}},  {"ReduceProd", {1}},   {"ReduceSum", {1}},
    {"ReduceSumSquare", {1}}, {"Reshape", {1}},    {"Resize", {1, 2, 3}}, {"Slice", {1, 2, 3, 4}},
    {"Split", {1}},           {"Squeeze", {1}},    {"Tile", {1}},         {"Unsqueeze", {1}},
    {"Upsample", {1}},
};

HostTensor read_tensor(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::TensorProto proto;
  if (!proto.ParseFromIstream(&file)) throw std::runtime_error("cannot read " + path.string());
  ExternalData external(path.parent_path(), 0);
  auto tensor = tensor_of(proto, external);
  if (!tensor.ok()) throw std::runtime_error(to_string(tensor.error()));
  return std::move(tensor).value();
}

// Older cases store bfloat16 as uint16.
void as_declared(HostTensor& value, DType declared) {
  if (declared == DType::kBFloat16 && value.type.dtype == DType::kUInt16) {
    value.type.dtype = DType::kBFloat16;
  }
}

std::set<std::string> parameters_of(const OnnxGraph& graph) {
  std::set<std::string> names;
  for (const OnnxNode& node : graph.nodes) {
    const auto known = kParameters.find(node.op_type);
    if (known == kParameters.end()) continue;
    for (const size_t index : known->second) {
      if (index < node.inputs.size()) names.insert(node.inputs[index]);
    }
  }
  return names;
}

// Section 12 of the architecture: the tolerance of `modelctl conformance`.
bool close(DType dtype, double want, double have) {
  if (std::isnan(want) || std::isnan(have)) return std::isnan(want) && std::isnan(have);
  if (want == have) return true;
  const bool half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  if (!is_float(dtype)) return false;
  return std::abs(want - have) <=
         (half ? 1e-3 + 1e-2 * std::abs(want) : 1e-5 + 1e-3 * std::abs(want));
}

std::string compare(const HostTensor& want, const HostTensor& have) {
  if (want.type != have.type) return to_string(have.type) + " instead of " + to_string(want.type);
  const std::vector<double> expected = to_doubles(want);
  const std::vector<double> found = to_doubles(have);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!close(want.type.dtype, expected[i], found[i])) {
      return "element " + std::to_string(i) + ": " + std::to_string(found[i]) + " instead of " +
             std::to_string(expected[i]);
    }
  }
  return "";
}

struct Outcome {
  bool ran = false;
  std::string reason;  // of a refusal or failure
};

struct CaseInputs {
  CompileOptions options;
  test::Tensors run_time;
};

CaseInputs inputs_of(const OnnxGraph& graph, const std::filesystem::path& set) {
  CaseInputs result;
  result.options.make_references = false;
  const std::set<std::string> parameters = parameters_of(graph);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.inputs[i].name;
    HostTensor value = read_tensor(set / ("input_" + std::to_string(i) + ".pb"));
    as_declared(value, graph.inputs[i].dtype);
    if (value.type.shape.size() != graph.inputs[i].shape.size()) {
      throw std::runtime_error("[unsupported] the case's file for '" + name +
                               "' is not of the rank its graph declares");
    }
    if (parameters.contains(name)) {
      result.options.frozen_inputs[name] = {value.type, value.bytes};
    } else {
      result.run_time[name] = std::move(value);
    }
  }
  return result;
}

Outcome run_case(const std::filesystem::path& folder, bool optimise) {
  const auto graph = read_onnx(folder / "model.onnx");
  if (!graph.ok()) return {false, to_string(graph.error())};
  const auto set = folder / "test_data_set_0";
  CaseInputs inputs = inputs_of(*graph, set);
  inputs.options.optimise = optimise;
  const auto compiled = compile_onnx(folder / "model.onnx", inputs.options);
  if (!compiled.ok()) return {false, to_string(compiled.error())};
  test::ModelRunner runner(compiled->model);
  const test::Tensors outputs = runner.run(inputs.run_time);
  for (size_t i = 0; i < graph->outputs.size(); ++i) {
    const auto path = set / ("output_" + std::to_string(i) + ".pb");
    if (!std::filesystem::exists(path)) continue;
    HostTensor want = read_tensor(path);
    as_declared(want, outputs.at(graph->outputs[i]).type.dtype);
    const std::string wrong = compare(want, outputs.at(graph->outputs[i]));
    if (!wrong.empty()) return {true, wrong};
  }
  return {true, ""};
}

// Refusals that say this compiler does not have something, as it should.
bool is_honest_refusal(const std::string& reason) {
  for (const char* word : {"[unsupported]", "training"}) {
    if (reason.find(word) != std::string::npos) return true;
  }
  return false;
}

void expect_cases(const std::filesystem::path& root, size_t at_least) {
  size_t ran = 0;
  std::map<std::string, size_t> refused;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (!std::filesystem::exists(entry.path() / "model.onnx")) continue;
    if (!std::filesystem::exists(entry.path() / "test_data_set_0")) continue;
    for (const bool optimise : {false, true}) {
      Outcome outcome;
      try {
        outcome = run_case(entry.path(), optimise);
      } catch (const std::exception& error) {
        outcome.reason = error.what();
      }
      if (outcome.ran && outcome.reason.empty()) ++ran;
      if (outcome.reason.empty()) continue;
      if (!outcome.ran && is_honest_refusal(outcome.reason)) {
        ++refused[outcome.reason];
        continue;
      }
      ADD_FAILURE() << entry.path().filename() << ": " << outcome.reason;
    }
  }
  for (const auto& [reason, times] : refused) std::cout << times << " x " << reason << "\n";
  std::cout << ran << " runs agree\n";
  EXPECT_GE(ran, at_least);
}

TEST(OnnxCases, HandedOnes) {
  MODELD_NEED_SHARED("conformance/onnx-node");
  expect_cases(test::shared_path("conformance/onnx-node"), 300);
}

TEST(OnnxCases, DebiansOlderOnes) {
  const std::filesystem::path root = "/usr/share/libonnx-testdata/data/node";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "libonnx-testdata is not installed";
  expect_cases(root, 300);
}

}  // namespace
}  // namespace modeld::compile
