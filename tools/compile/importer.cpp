#include "tools/compile/importer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tools/compile/node_import.h"
#include "tools/compile/op_families.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr std::array<std::string_view, 2> kTrainingDomains = {"ai.onnx.training",
                                                              "ai.onnx.preview.training"};
constexpr std::array<std::string_view, 6> kTrainingOps = {"Adam",     "Adagrad", "Momentum",
                                                          "Gradient", "SGD",     "GraphCall"};
constexpr std::array<std::string_view, 3> kControlFlow = {"Loop", "Scan", "SequenceMap"};

// Ops that have meant the same since before kOldestOpset (their first form had an attribute
// `consumed_inputs`, which is refused as unknown).
constexpr std::array<std::string_view, 23> kNeverChanged = {"Abs",
                                                            "Ceil",
                                                            "Elu",
                                                            "Exp",
                                                            "Floor",
                                                            "GlobalAveragePool",
                                                            "GlobalMaxPool",
                                                            "HardSigmoid",
                                                            "InstanceNormalization",
                                                            "LeakyRelu",
                                                            "Log",
                                                            "Neg",
                                                            "Not",
                                                            "Reciprocal",
                                                            "ReduceLogSum",
                                                            "ReduceLogSumExp",
                                                            "Relu",
                                                            "Selu",
                                                            "Sigmoid",
                                                            "Softplus",
                                                            "Softsign",
                                                            "Sqrt",
                                                            "Tanh"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

const ImporterRow* find_importer(const OnnxNode& node) {
  using Families = std::vector<std::span<const ImporterRow>>;
  static const Families kOnnx = {
      elementwise_importers(), matrix_importers(),    normalisation_importers(),
      recurrent_importers(),   attention_importers(), einsum_importers(),
      quantised_importers(),   index_importers(),     window_importers(),
      reduction_importers(),   shape_importers(),     data_importers()};
  static const Families kMicrosoft = {microsoft_importers()};
  static const Families kNone;
  const std::string& op_type = node.op_type;
  const bool microsoft = node.domain == "com.microsoft";
  for (const auto family : node.domain.empty() ? kOnnx : microsoft ? kMicrosoft : kNone) {
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
    return Error(ErrorCode::kUnsupported,
                 "control flow is not supported, but for If with a condition known when building");
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
  Status import_nodes(const std::vector<OnnxNode>& nodes);
  Status import_if(const OnnxNode& node);
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
  const ImporterRow* importer = find_importer(node);
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

// The branch that is taken becomes part of the graph, the other one is gone.
Status GraphImport::import_if(const OnnxNode& node) {
  const TensorId condition = node.inputs.size() == 1 ? value(node.inputs[0]) : kNoTensor;
  if (condition == kNoTensor) return Error(ErrorCode::kRefused, "no condition");
  const HostTensor* known = draft_.constant(condition);
  if (known == nullptr) {
    return Error(ErrorCode::kUnsupported, "the condition depends on run-time values");
  }
  if (known->type.dtype != DType::kBool || known->type.elements() != 1) {
    return Error(ErrorCode::kRefused, "the condition is not one truth value")
        .expecting("bool[]", to_string(known->type));
  }
  const bool yes = known->bytes[0] != std::byte{0};
  const auto branch = node.attributes.find(yes ? "then_branch" : "else_branch");
  const auto* graph =
      branch == node.attributes.end() ? nullptr : std::get_if<OnnxSubgraph>(&branch->second);
  if (graph == nullptr || !graph->body || graph->body->outputs.size() != node.outputs.size()) {
    return Error(ErrorCode::kRefused, "no branch with the node's outputs");
  }
  const OnnxBody& body = *graph->body;
  for (const auto& [name, constant] : body.initializers) {
    values_[name] = draft_.add_constant(constant, name);
  }
  MODELD_TRY(import_nodes(body.nodes));
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) values_[node.outputs[i]] = value(body.outputs[i]);
  }
  return {};
}

Status GraphImport::import_nodes(const std::vector<OnnxNode>& nodes) {
  for (const OnnxNode& node : nodes) {
    auto imported = import_node(node);
    if (!imported.ok()) return std::move(imported).error().in(label(node));
  }
  return {};
}

Status GraphImport::import_node(const OnnxNode& node) {
  if (node.domain.empty() && node.op_type == "If") return import_if(node);
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
  MODELD_TRY(import_nodes(graph_.nodes));
  ValueMap outputs;
  for (const std::string& name : graph_.outputs) outputs[name] = value(name);
  return outputs;
}

}  // namespace

Result<ValueMap> import_graph(Draft& draft, const OnnxGraph& graph, const ValueMap& inputs) {
  return GraphImport(draft, graph).run(inputs);
}

}  // namespace modeld::compile
