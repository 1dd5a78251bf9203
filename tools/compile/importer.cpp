#include "tools/compile/importer.h"

#include <algorithm>
#include <array>

#include "tools/compile/node_import.h"
#include "tools/compile/op_families.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr std::array<std::string_view, 2> kTrainingDomains = {"ai.onnx.training",
                                                              "ai.onnx.preview.training"};
constexpr std::array<std::string_view, 6> kTrainingOps = {"Adam",     "Adagrad", "Momentum",
                                                          "Gradient", "SGD",     "GraphCall"};
constexpr std::array<std::string_view, 4> kControlFlow = {"If", "Loop", "Scan", "SequenceMap"};

// Ops that have meant the same since the first operator set.
constexpr std::array<std::string_view, 14> kNeverChanged = {
    "Abs",           "Ceil",        "Exp",  "Floor",      "GlobalAveragePool",
    "GlobalMaxPool", "HardSigmoid", "Not",  "Reciprocal", "Sigmoid",
    "Softplus",      "Sqrt",        "Tanh", "Relu"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

const ImporterRow* find_importer(std::string_view op_type) {
  for (const auto family : {elementwise_importers(), matrix_importers(), window_importers(),
                            reduction_importers(), shape_importers(), data_importers()}) {
    for (const ImporterRow& row : family) {
      if (row.op_type == op_type) return &row;
    }
  }
  return nullptr;
}

bool has_subgraph(const OnnxNode& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& attribute) {
    return std::holds_alternative<OnnxSubgraph>(attribute.second);
  });
}

Status refuse_by_kind(const OnnxNode& node) {
  if (contains(kTrainingDomains, node.domain) || contains(kTrainingOps, node.op_type)) {
    return Error(ErrorCode::kRefused, "a training op; training graphs are not models");
  }
  if (contains(kControlFlow, node.op_type) || has_subgraph(node)) {
    return Error(ErrorCode::kUnsupported, "control flow is not supported");
  }
  return {};
}

std::string label(const OnnxNode& node) {
  return "node '" + printable(node.name) + "' (" + printable(node.op_type) + ")";
}

class GraphImport {
 public:
  GraphImport(Draft& draft, const OnnxGraph& graph) : draft_(draft), graph_(graph) {}

  Result<ValueMap> run(const ValueMap& inputs);

 private:
  Status import_node(const OnnxNode& node);
  Result<const ImporterRow*> importer_of(const OnnxNode& node) const;
  TensorId value(const std::string& name);

  Draft& draft_;
  const OnnxGraph& graph_;
  ValueMap values_;
};

// Initializers enter the draft when they are first read.
TensorId GraphImport::value(const std::string& name) {
  if (name.empty()) return kNoTensor;
  if (const auto known = values_.find(name); known != values_.end()) return known->second;
  const TensorId id = draft_.add_constant(graph_.initializers.find(name)->second, name);
  values_[name] = id;
  return id;
}

Result<const ImporterRow*> GraphImport::importer_of(const OnnxNode& node) const {
  MODELD_TRY(refuse_by_kind(node));
  const auto opset = graph_.opsets.find(node.domain);
  const std::string version =
      opset == graph_.opsets.end() ? "none declared" : std::to_string(opset->second);
  const ImporterRow* importer = node.domain.empty() ? find_importer(node.op_type) : nullptr;
  if (importer == nullptr) {
    const std::string domain = node.domain.empty() ? "ai.onnx" : printable(node.domain);
    return Error(ErrorCode::kUnsupported, "unknown op '" + printable(node.op_type) +
                                              "' of domain '" + domain + "', opset " + version);
  }
  if (graph_.opset() < kOldestOpset && !contains(kNeverChanged, node.op_type)) {
    return Error(ErrorCode::kUnsupported, "the operator set is too old")
        .expecting("opset " + std::to_string(kOldestOpset) + " or newer", version);
  }
  return importer;
}

Status GraphImport::import_node(const OnnxNode& node) {
  MODELD_ASSIGN(const ImporterRow* row, importer_of(node));
  std::vector<TensorId> inputs;
  for (const std::string& name : node.inputs) inputs.push_back(value(name));
  NodeImport context(draft_, node, graph_.opset(), std::move(inputs));
  MODELD_TRY(row->importer(context));
  MODELD_TRY(context.finish());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (context.wants_output(i)) values_[node.outputs[i]] = context.outputs()[i];
  }
  return {};
}

Result<ValueMap> GraphImport::run(const ValueMap& inputs) {
  values_ = inputs;
  for (const OnnxNode& node : graph_.nodes) {
    auto imported = import_node(node);
    if (!imported.ok()) return std::move(imported).error().in(label(node));
  }
  ValueMap outputs;
  for (const std::string& name : graph_.outputs) outputs[name] = value(name);
  return outputs;
}

}  // namespace

Result<ValueMap> import_graph(Draft& draft, const OnnxGraph& graph, const ValueMap& inputs) {
  return GraphImport(draft, graph).run(inputs);
}

}  // namespace modeld::compile
