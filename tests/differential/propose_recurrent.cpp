// Recurrent networks of one layer.
#include "tests/differential/case_maker.h"

namespace modeld::test {
namespace {

struct Cell {
  int64_t gates;
  std::vector<std::string> activations;  // of one direction
};

Cell cell_of(Random& random, std::string_view name) {
  const std::string outer = random.chance(0.8) ? "Tanh" : "Relu";
  if (name == "LSTM") return {4, {"Sigmoid", outer, outer}};
  if (name == "GRU") return {3, {"Sigmoid", outer}};
  return {1, {outer}};
}

}  // namespace

Proposal propose_recurrent(Random& random, OpKind kind) {
  Proposal proposal;
  const std::string_view name = to_string(kind);
  const DType dtype = random_float(random);
  const auto direction = random.pick<std::string>({"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t steps = random.between(1, 6);
  const int64_t batch = random.between(1, 3);
  const int64_t input = random.between(1, 9);
  const int64_t hidden = random.pick<int64_t>({1, 2, 3, 5, 8, 17});
  const Cell cell = cell_of(random, name);
  const auto operand = [&](Shape shape, double constant) {
    return Operand{{dtype, std::move(shape)}, Values::kUnit, constant};
  };
  proposal.inputs.push_back(operand({steps, batch, input}, 0));
  proposal.inputs.push_back(operand({directions, cell.gates * hidden, input}, 0.9));
  proposal.inputs.push_back(operand({directions, cell.gates * hidden, hidden}, 0.9));
  const auto maybe = [&](double probability, Operand given) {
    if (random.chance(probability)) {
      proposal.inputs.emplace_back(std::move(given));
    } else {
      proposal.inputs.emplace_back();
    }
  };
  maybe(0.7, operand({directions, 2 * cell.gates * hidden}, 0.9));
  Operand lengths{{DType::kInt32, {batch}}, Values::kPlain, 0.5};
  lengths.exact = std::vector<double>();
  for (int64_t i = 0; i < batch; ++i) {
    lengths.exact->push_back(static_cast<double>(random.between(1, steps)));
  }
  maybe(0.3, lengths);
  maybe(0.5, operand({directions, batch, hidden}, 0.2));
  if (name == "LSTM") {
    maybe(0.5, operand({directions, batch, hidden}, 0.2));
    maybe(0.3, operand({directions, 3 * hidden}, 0.9));
    proposal.attributes["input_forget"] = int64_t{random.chance(0.2)};
  }
  if (name == "GRU") proposal.attributes["linear_before_reset"] = int64_t{random.chance(0.5)};
  while (!proposal.inputs.back()) proposal.inputs.pop_back();
  std::string activations;
  std::vector<double> parameters;
  for (int64_t d = 0; d < directions; ++d) {
    for (const std::string& activation : cell.activations) {
      activations += (activations.empty() ? "" : ",") + activation;
      parameters.push_back(0);
    }
  }
  proposal.attributes["direction"] = direction;
  proposal.attributes["activations"] = activations;
  proposal.attributes["activation_alpha"] = parameters;
  proposal.attributes["activation_beta"] = parameters;
  if (random.chance(0.2)) proposal.attributes["clip"] = 1.5;
  return proposal;
}

}  // namespace modeld::test
