// RNN, GRU and LSTM: a sequence in, one state carried from step to step.
#include <algorithm>
#include <cmath>

#include "runtime/program/infer_rules.h"
#include "runtime/program/recurrent.h"

namespace modeld::infer {
namespace {

struct Extents {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t directions = 1;
  int64_t hidden = 0;
};

Result<Extents> extents_of(const Call& call) {
  for (size_t i = 0; i < 3; ++i) MODELD_TRY(need_rank(call, i, 3));
  Extents e;
  e.steps = call.shape(0)[0];
  e.batch = call.shape(0)[1];
  e.input = call.shape(0)[2];
  e.hidden = call.shape(2)[2];
  if (e.hidden < 1) return wrong(call, "input 2", "a state with elements", to_string(call.in(2)));
  MODELD_TRY(need_one_of(call, "direction", {"forward", "reverse", "bidirectional"}));
  e.directions = call.attributes.get_string("direction") == "bidirectional" ? 2 : 1;
  return e;
}

Status check_activations(const Call& call, int64_t directions) {
  const auto activations = recurrent_activations(call.attributes);
  const size_t want = recurrent_functions(call.kind) * static_cast<size_t>(directions);
  if (activations && activations->size() == want) return {};
  return wrong(call, "attributes activations, activation_alpha, activation_beta",
               std::to_string(want) + " functions of OPS.md with both parameters",
               call.attributes.get_string("activations").substr(0, 64));
}

Status check_optional(const Call& call, size_t input, const Shape& shape) {
  if (!call.has(input)) return {};
  if (call.in(input).dtype != call.in(0).dtype) {
    return wrong(call, "input " + std::to_string(input), "the element type of input 0",
                 to_string(call.in(input)));
  }
  return need_shape(call, input, shape);
}

}  // namespace

Result<Types> infer_recurrent(const Call& call) {
  MODELD_TRY(need_float(call, 0));
  MODELD_ASSIGN(const Extents e, extents_of(call));
  MODELD_TRY(check_activations(call, e.directions));
  const int64_t gates = recurrent_gates(call.kind);
  if (e.hidden > kMaxExtent / (2 * gates)) {
    return wrong(call, "input 2", "a smaller state", to_string(call.in(2)));
  }
  MODELD_TRY(check_optional(call, 1, {e.directions, gates * e.hidden, e.input}));
  MODELD_TRY(check_optional(call, 2, {e.directions, gates * e.hidden, e.hidden}));
  MODELD_TRY(check_optional(call, 3, {e.directions, 2 * gates * e.hidden}));
  if (call.has(4) && call.in(4) != TensorType{DType::kInt32, {e.batch}}) {
    return wrong(call, "input 4", "lengths i32[" + std::to_string(e.batch) + "]",
                 to_string(call.in(4)));
  }
  const Shape state = {e.directions, e.batch, e.hidden};
  MODELD_TRY(check_optional(call, 5, state));
  if (call.attributes.has("clip")) MODELD_TRY(need_finite(call, "clip", 0));
  const DType dtype = call.in(0).dtype;
  Types types = {{dtype, {e.steps, e.directions, e.batch, e.hidden}}, {dtype, state}};
  if (call.kind == OpKind::kGru) MODELD_TRY(flag_of(call, "linear_before_reset"));
  if (call.kind != OpKind::kLstm) return types;
  MODELD_TRY(flag_of(call, "input_forget"));
  MODELD_TRY(check_optional(call, 6, state));
  MODELD_TRY(check_optional(call, 7, {e.directions, 3 * e.hidden}));
  types.push_back({dtype, state});
  return types;
}

}  // namespace modeld::infer
