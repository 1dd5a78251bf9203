#include "runtime/program/recurrent.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace modeld {
namespace {

struct Row {
  std::string_view name;
  GateFunction function;
  GateParameters parameters;
};

// ONNX operator documentation, RNN: "Activation functions".
constexpr std::array<Row, 11> kRows = {{
    {"Affine", GateFunction::kAffine, {true, true, 1, 0}},
    {"Elu", GateFunction::kElu, {true, false, 1, 0}},
    {"HardSigmoid", GateFunction::kHardSigmoid, {true, true, 0.2, 0.5}},
    {"LeakyRelu", GateFunction::kLeakyRelu, {true, false, 0.01, 0}},
    {"Relu", GateFunction::kRelu, {}},
    {"ScaledTanh", GateFunction::kScaledTanh, {true, true, 1, 1}},
    {"Sigmoid", GateFunction::kSigmoid, {}},
    {"Softplus", GateFunction::kSoftplus, {}},
    {"Softsign", GateFunction::kSoftsign, {}},
    {"Tanh", GateFunction::kTanh, {}},
    {"ThresholdedRelu", GateFunction::kThresholdedRelu, {true, false, 1, 0}},
}};

bool equal_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    const size_t comma = text.find(',', start);
    parts.push_back(text.substr(start, comma - start));
    if (comma == std::string::npos) return parts;
    start = comma + 1;
  }
}

}  // namespace

int64_t recurrent_gates(OpKind kind) {
  if (kind == OpKind::kLstm) return 4;
  return kind == OpKind::kGru ? 3 : 1;
}

size_t recurrent_functions(OpKind kind) {
  if (kind == OpKind::kLstm) return 3;
  return kind == OpKind::kGru ? 2 : 1;
}

std::optional<GateFunction> parse_gate_function(std::string_view name) {
  for (const Row& row : kRows) {
    if (equal_without_case(row.name, name)) return row.function;
  }
  return std::nullopt;
}

GateParameters gate_parameters(GateFunction function) {
  for (const Row& row : kRows) {
    if (row.function == function) return row.parameters;
  }
  return {};
}

std::optional<std::vector<GateActivation>> recurrent_activations(const Attributes& attributes) {
  const auto names = split_at_commas(attributes.get_string("activations"));
  const auto alphas = attributes.get_floats("activation_alpha");
  const auto betas = attributes.get_floats("activation_beta");
  if (alphas.size() != names.size() || betas.size() != names.size()) return std::nullopt;
  std::vector<GateActivation> result;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto function = parse_gate_function(names[i]);
    if (!function || !std::isfinite(alphas[i]) || !std::isfinite(betas[i])) return std::nullopt;
    result.push_back({*function, alphas[i], betas[i]});
  }
  return result;
}

double apply(const GateActivation& activation, double x) {
  const double alpha = activation.alpha;
  const double beta = activation.beta;
  switch (activation.function) {
    case GateFunction::kAffine:
      return alpha * x + beta;
    case GateFunction::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case GateFunction::kHardSigmoid:
      return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    case GateFunction::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case GateFunction::kRelu:
      return x < 0 ? 0 : x;
    case GateFunction::kScaledTanh:
      return alpha * std::tanh(beta * x);
    case GateFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case GateFunction::kSoftplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case GateFunction::kSoftsign:
      return x / (1 + std::fabs(x));
    case GateFunction::kTanh:
      return std::tanh(x);
    case GateFunction::kThresholdedRelu:
      return x >= alpha ? x : 0;
  }
  return x;
}

}  // namespace modeld
