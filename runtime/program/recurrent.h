// What RNN, GRU and LSTM have in common: the functions of their gates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program/op.h"

namespace modeld {

// Blocks of rows in W and R: RNN i; GRU z, r, h; LSTM i, o, f, c.
int64_t recurrent_gates(OpKind kind);
// Functions per direction, in ONNX order: RNN f; GRU f, g; LSTM f, g, h.
size_t recurrent_functions(OpKind kind);

enum class GateFunction : uint8_t {
  kAffine,  // alpha x + beta
  kElu,
  kHardSigmoid,
  kLeakyRelu,
  kRelu,
  kScaledTanh,  // alpha tanh(beta x)
  kSigmoid,
  kSoftplus,
  kSoftsign,
  kTanh,
  kThresholdedRelu,  // x where x >= alpha, else 0
};

struct GateActivation {
  GateFunction function = GateFunction::kTanh;
  double alpha = 0;
  double beta = 0;
};

// Case as ONNX writes it ("HardSigmoid"), or all lower case.
std::optional<GateFunction> parse_gate_function(std::string_view name);
// Whether the function takes alpha and beta, and ONNX's defaults for them.
struct GateParameters {
  bool takes_alpha = false;
  bool takes_beta = false;
  double alpha = 0;
  double beta = 0;
};
GateParameters gate_parameters(GateFunction function);

// The attributes `activations` (names, joined by commas), `activation_alpha` and
// `activation_beta` (one value per name); nothing if they do not fit together.
std::optional<std::vector<GateActivation>> recurrent_activations(const Attributes& attributes);

double apply(const GateActivation& activation, double x);

}  // namespace modeld
