// RNN, GRU and LSTM. The program's ops know one layout (steps first) and take every activation with
// its parameters.
#include <algorithm>
#include <array>

#include "runtime/program/recurrent.h"
#include "tools/compile/op_families.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

struct Activations {
  std::string names;
  std::vector<double> alphas;
  std::vector<double> betas;

  void add(std::string_view name, double alpha, double beta) {
    if (!names.empty()) names += ',';
    names += name;
    alphas.push_back(alpha);
    betas.push_back(beta);
  }
};

// Parameters are listed for those functions that take them, in order; missing ones have defaults.
Result<Activations> activations_of(NodeImport& node, std::vector<std::string_view> defaults,
                                   size_t directions) {
  std::vector<std::string> names = node.attr_strings("activations");
  const std::vector<float> alphas = node.attr_floats("activation_alpha");
  const std::vector<float> betas = node.attr_floats("activation_beta");
  for (size_t d = 0; names.size() < defaults.size() * directions && d < directions; ++d) {
    if (node.has_attribute("activations")) break;
    names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != defaults.size() * directions) {
    return node.refused("attribute 'activations' has the wrong length")
        .expecting(std::to_string(defaults.size() * directions), std::to_string(names.size()));
  }
  Activations result;
  size_t next_alpha = 0;
  size_t next_beta = 0;
  for (const std::string& name : names) {
    const auto function = parse_gate_function(name);
    if (!function) return node.unsupported("activation '" + printable(name) + "'");
    const GateParameters row = gate_parameters(*function);
    const bool given_alpha = row.takes_alpha && next_alpha < alphas.size();
    const bool given_beta = row.takes_beta && next_beta < betas.size();
    result.add(name, given_alpha ? static_cast<double>(alphas[next_alpha++]) : row.alpha,
               given_beta ? static_cast<double>(betas[next_beta++]) : row.beta);
  }
  return result;
}

// Lengths that leave no step out are no lengths.
bool has_full_lengths(const NodeImport& node, int64_t steps) {
  const HostTensor* lengths = node.constant_input(4);
  if (lengths == nullptr) return false;
  const auto values = to_ints(*lengths);
  return values && std::all_of(values->begin(), values->end(),
                               [steps](int64_t length) { return length == steps; });
}

Result<std::vector<TensorId>> recurrent_inputs(NodeImport& node, bool batch_first) {
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(node.input(i));
  if (batch_first) {
    for (const size_t i : {size_t{0}, size_t{5}, size_t{6}}) {
      if (!node.has_input(i)) continue;
      if (node.rank(i) != 3) return node.refused("an input is not of rank 3");
      MODELD_ASSIGN(inputs[i], node.transpose(inputs[i], {1, 0, 2}));
    }
  }
  const Shape& data = node.draft().shape(inputs[0]);
  if (inputs.size() > 4 && inputs[4] != kNoTensor && !data.empty() &&
      has_full_lengths(node, data[0])) {
    inputs[4] = kNoTensor;
  }
  return inputs;
}

Status set_outputs(NodeImport& node, const std::vector<TensorId>& ids, bool batch_first) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!node.wants_output(i)) continue;
    TensorId id = ids[i];
    if (batch_first && i == 0) {
      MODELD_ASSIGN(id, node.transpose(id, {2, 0, 1, 3}));
    } else if (batch_first) {
      MODELD_ASSIGN(id, node.transpose(id, {1, 0, 2}));
    }
    node.set_output(i, id);
  }
  return {};
}

Status recurrent(NodeImport& node, OpKind kind, std::vector<std::string_view> defaults,
                 size_t most_inputs, Attributes attributes) {
  MODELD_TRY(node.expect_inputs(3, most_inputs));
  const std::string direction = node.attr_string("direction", "forward");
  const size_t directions = direction == "bidirectional" ? 2 : 1;
  MODELD_ASSIGN(Activations activations, activations_of(node, std::move(defaults), directions));
  attributes.set("direction", direction);
  attributes.set("activations", std::move(activations.names));
  attributes.set("activation_alpha", std::move(activations.alphas));
  attributes.set("activation_beta", std::move(activations.betas));
  if (node.has_attribute("clip")) attributes.set("clip", node.attr_float("clip", 0));
  if (node.rank(2) != 3) return node.refused("'R' is not of rank 3");
  const int64_t hidden = node.shape(2)[2];
  if (node.attr_int("hidden_size", hidden) != hidden) {
    return node.refused("attribute 'hidden_size' does not fit 'R'")
        .expecting(std::to_string(hidden), std::to_string(node.attr_int("hidden_size", 0)));
  }
  node.ignore_attr("output_sequence");  // opset 1: whether Y is wanted, which the outputs tell
  const bool batch_first = node.attr_int("layout", 0) != 0;
  MODELD_ASSIGN(std::vector<TensorId> inputs, recurrent_inputs(node, batch_first));
  MODELD_ASSIGN(const std::vector<TensorId> ids,
                node.emit_many(kind, std::move(inputs), std::move(attributes)));
  return set_outputs(node, ids, batch_first);
}

Status rnn(NodeImport& node) {
  return recurrent(node, OpKind::kRnn, {"Tanh"}, 6, {});
}

Status gru(NodeImport& node) {
  Attributes attributes;
  attributes.set("linear_before_reset", node.attr_int("linear_before_reset", 0));
  return recurrent(node, OpKind::kGru, {"Sigmoid", "Tanh"}, 6, std::move(attributes));
}

Status lstm(NodeImport& node) {
  Attributes attributes;
  attributes.set("input_forget", node.attr_int("input_forget", 0));
  return recurrent(node, OpKind::kLstm, {"Sigmoid", "Tanh", "Tanh"}, 8, std::move(attributes));
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"GRU", gru},
    {"LSTM", lstm},
    {"RNN", rnn},
});

}  // namespace

std::span<const ImporterRow> recurrent_importers() {
  return kImporters;
}

}  // namespace modeld::compile
