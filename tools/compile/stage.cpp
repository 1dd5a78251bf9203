#include "tools/compile/stage.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "tools/compile/output_contracts.h"
#include "tools/compile/replace_weights.h"
#include "tools/compile/stage_inputs.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

Error invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

// `next_X` feeds X or state_X (facts 4.4: discover by name).
std::map<std::string, std::string> state_pairs(const OnnxGraph& graph) {
  constexpr std::string_view kPrefix = "next_";
  std::set<std::string> inputs;
  for (const OnnxInput& input : graph.inputs) inputs.insert(input.name);
  std::map<std::string, std::string> pairs;
  for (const std::string& output : graph.outputs) {
    if (!output.starts_with(kPrefix)) continue;
    const std::string name = output.substr(kPrefix.size());
    for (const std::string& input : {name, "state_" + name}) {
      if (!inputs.contains(input)) continue;
      pairs.emplace(input, output);
      break;
    }
  }
  return pairs;
}

Status check_mentioned(const Stage& stage) {
  const auto& inputs = stage.graph.inputs;
  for (const InputSpec& spec : stage.spec->inputs) {
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const OnnxInput& input) { return input.name == spec.name; });
    if (!known && !spec.optional) {
      return invalid("pipeline line " + std::to_string(spec.line) + ": the graph has no input '" +
                     printable(spec.name) + "'");
    }
  }
  for (const auto& [output, slices] : stage.spec->slices) {
    const auto& outputs = stage.graph.outputs;
    if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) {
      return invalid("pipeline: the graph has no output '" + printable(output) + "'");
    }
  }
  return {};
}

Status check_frozen(const std::vector<Stage>& stages,
                    const std::map<std::string, FrozenInput>& frozen) {
  std::set<std::string> known;
  for (const Stage& stage : stages) {
    for (const OnnxInput& input : stage.graph.inputs) known.insert(input.name);
  }
  for (const auto& [name, value] : frozen) {
    if (!known.contains(name)) return invalid("no graph input '" + printable(name) + "' to freeze");
  }
  return {};
}

}  // namespace

Result<Networks> read_networks(const std::filesystem::path& onnx, const Pipeline& pipeline,
                               const BuildOptions& options) {
  Networks networks;
  for (const StageSpec& spec : pipeline.stages) {
    Stage stage;
    stage.spec = &spec;
    const auto file = spec.file.empty() ? onnx : onnx.parent_path() / spec.file;
    MODELD_ASSIGN(stage.graph, read_onnx(file));
    if (options.shapes != nullptr) MODELD_TRY(set_input_shapes(stage.graph, *options.shapes));
    stage.next_of = state_pairs(stage.graph);
    MODELD_TRY(check_mentioned(stage));
    networks.stages.push_back(std::move(stage));
  }
  if (options.weights != nullptr) {
    std::vector<NamedGraph> graphs;
    for (Stage& stage : networks.stages) graphs.push_back({stage.spec->name, &stage.graph});
    MODELD_ASSIGN(networks.weights_sha256, replace_weights(graphs, *options.weights));
  }
  if (options.frozen != nullptr) MODELD_TRY(check_frozen(networks.stages, *options.frozen));
  return networks;
}

Status name_slices(Stage& stage, const Draft& draft) {
  std::set<std::string> states;
  for (const auto& [input, output] : stage.next_of) states.insert(output);
  std::vector<std::string> names;
  for (const std::string& output : stage.graph.outputs) {
    if (!states.contains(output)) names.push_back(output);
  }
  const std::string* property = stage.graph.find_metadata("output_slices");
  for (const std::string& output : names) {
    const int64_t total = draft.type(stage.outputs.at(output)).elements();
    const auto given = stage.spec->slices.find(output);
    auto& slices = stage.slices[output];
    if (given != stage.spec->slices.end()) {
      MODELD_ASSIGN(slices, ranges_of(given->second, total));
    } else if (property != nullptr && (names.size() == 1 || output == "outputs")) {
      MODELD_ASSIGN(const std::vector<NamedSlice> named, decode_output_slices(*property));
      MODELD_ASSIGN(slices, ranges_of(named, total));
    } else if (total > 0) {
      slices = {{"all", 0, total}};
    }
  }
  return {};
}

uint64_t constant_bytes(const OnnxGraph& graph) {
  uint64_t sum = 0;
  for (const auto& [name, value] : graph.initializers) sum += value->bytes.size();
  for (const OnnxNode& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* value = std::get_if<ConstantPtr>(&attribute)) sum += (*value)->bytes.size();
    }
  }
  return sum;
}

}  // namespace modeld::compile
