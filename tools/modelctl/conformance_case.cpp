#include "tools/modelctl/conformance_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runtime/base/file.h"
#include "runtime/program/element.h"
#include "tools/compile/onnx_graph.h"
#include "tools/compile/onnx_proto.h"
#include "tools/compile/onnx_tensor.h"

namespace modeld::modelctl {
namespace {

constexpr uint64_t kMaxTensorFileBytes = uint64_t{256} << 20;
constexpr size_t kMaxDataSets = 1000;

// Operator and the positions of its inputs that a program has as attributes.
struct FrozenRule {
  std::string_view op;
  std::vector<size_t> positions;
};

const std::vector<FrozenRule>& frozen_rules() {
  static const std::vector<FrozenRule> rules = {
      {"CenterCropPad", {1}},
      {"Clip", {1, 2}},
      {"ConstantOfShape", {0}},
      {"CumSum", {1}},
      {"Dropout", {1, 2}},
      {"Expand", {1}},
      {"If", {0}},
      {"NonMaxSuppression", {2}},
      {"OneHot", {1}},
      {"Pad", {1, 2, 3}},
      {"Range", {0, 1, 2}},
      {"ReduceL1", {1}},
      {"ReduceL2", {1}},
      {"ReduceLogSum", {1}},
      {"ReduceLogSumExp", {1}},
      {"ReduceMax", {1}},
      {"ReduceMean", {1}},
      {"ReduceMin", {1}},
      {"ReduceProd", {1}},
      {"ReduceSum", {1}},
      {"ReduceSumSquare", {1}},
      {"Reshape", {1}},
      {"Resize", {1, 2, 3}},
      {"Slice", {1, 2, 3, 4}},
      {"Split", {1}},
      {"Squeeze", {1}},
      {"Tile", {1}},
      {"TopK", {1}},
      {"Trilu", {1}},
      {"Unsqueeze", {1}},
      {"Upsample", {1}},
  };
  return rules;
}

std::vector<std::string> inputs_to_freeze(const compile::OnnxGraph& graph) {
  std::vector<std::string> names;
  const auto is_graph_input = [&](const std::string& name) {
    return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                       [&](const compile::OnnxInput& input) { return input.name == name; });
  };
  for (const compile::OnnxNode& node : graph.nodes) {
    for (const FrozenRule& rule : frozen_rules()) {
      if (rule.op != node.op_type) continue;
      for (const size_t position : rule.positions) {
        if (position < node.inputs.size() && is_graph_input(node.inputs[position])) {
          names.push_back(node.inputs[position]);
        }
      }
    }
  }
  return names;
}

Result<HostTensor> read_tensor(const std::filesystem::path& path) {
  MODELD_ASSIGN(const std::string text, read_text_file(path, kMaxTensorFileBytes));
  onnx::TensorProto proto;
  if (!proto.ParseFromString(text)) {
    return Error(ErrorCode::kUnsupported, path.filename().string() + " holds no tensor");
  }
  compile::ExternalData external(path.parent_path(), kMaxTensorFileBytes);
  auto tensor = compile::tensor_of(proto, external);
  if (!tensor.ok()) return std::move(tensor).error().in(path.filename().string());
  return tensor;
}

// Older cases store bfloat16 as uint16.
void as_declared(HostTensor& value, DType declared) {
  if (declared == DType::kBFloat16 && value.type.dtype == DType::kUInt16) {
    value.type.dtype = DType::kBFloat16;
  }
}

Result<ConformanceData> read_data(const std::filesystem::path& folder,
                                  const compile::OnnxGraph& graph) {
  ConformanceData data;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const auto path = folder / ("input_" + std::to_string(i) + ".pb");
    if (!std::filesystem::exists(path)) continue;
    MODELD_ASSIGN(HostTensor input, read_tensor(path));
    as_declared(input, graph.inputs[i].dtype);
    data.inputs[graph.inputs[i].name] = std::move(input);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto path = folder / ("output_" + std::to_string(i) + ".pb");
    std::optional<HostTensor>& output = data.outputs.emplace_back();
    if (!std::filesystem::exists(path)) continue;
    MODELD_ASSIGN(output, read_tensor(path));
  }
  return data;
}

struct Bounds {
  double absolute = 0;
  double relative = 0;
};

Bounds bounds_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
      return {1e-5, 1e-3};
    case DType::kFloat16:
    case DType::kBFloat16:
      return {1e-3, 1e-2};
    default:
      return {};
  }
}

bool close(double expected, double found, const Bounds& bounds) {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return true;
  return std::abs(found - expected) <= bounds.absolute + bounds.relative * std::abs(expected);
}

}  // namespace

Result<std::vector<std::string>> list_cases(const std::filesystem::path& root) {
  std::error_code failure;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(root, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::error_code ignored;
    if (std::filesystem::exists(entry->path() / "model.onnx", ignored)) {
      names.push_back(entry->path().filename().string());
    }
  }
  if (failure) return errno_error("reading " + root.string(), failure.value());
  std::sort(names.begin(), names.end());
  return names;
}

Result<ConformanceCase> read_case(const std::filesystem::path& root, const std::string& name) {
  ConformanceCase test;
  test.name = name;
  test.model = root / name / "model.onnx";
  MODELD_ASSIGN(const compile::OnnxGraph graph, compile::read_onnx(test.model));
  test.outputs = graph.outputs;
  test.frozen = inputs_to_freeze(graph);
  for (size_t k = 0; k < kMaxDataSets; ++k) {
    const auto folder = root / name / ("test_data_set_" + std::to_string(k));
    if (!std::filesystem::is_directory(folder)) break;
    MODELD_ASSIGN(test.data.emplace_back(), read_data(folder, graph));
  }
  return test;
}

std::map<std::string, compile::FrozenInput> frozen_inputs(const ConformanceCase& test,
                                                          const ConformanceData& data) {
  std::map<std::string, compile::FrozenInput> frozen;
  for (const std::string& name : test.frozen) {
    const auto value = data.inputs.find(name);
    if (value != data.inputs.end()) frozen[name] = {value->second.type, value->second.bytes};
  }
  return frozen;
}

std::string difference(const HostTensor& given, const TensorType& type,
                       std::span<const std::byte> found) {
  HostTensor expected = given;
  as_declared(expected, type.dtype);
  if (type != expected.type) {
    return "type: expected " + to_string(expected.type) + ", found " + to_string(type);
  }
  const bool is_exact = !is_float(type.dtype);
  if (is_exact && std::equal(found.begin(), found.end(), expected.bytes.begin())) return {};
  const Bounds bounds = bounds_of(type.dtype);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const double want = element_at(expected.bytes, type.dtype, i);
    const double have = element_at(found, type.dtype, i);
    if (!is_exact && close(want, have, bounds)) continue;
    if (is_exact && want == have) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(want) + ", found " +
           std::to_string(have);
  }
  return is_exact ? "integers beyond 2^53 differ" : "";
}

}  // namespace modeld::modelctl
