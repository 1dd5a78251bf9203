#include "tools/compile/passes/fuse_bias.h"

#include <optional>

#include "tools/compile/passes/channel_terms.h"

namespace modeld::compile {
namespace {

// The bias `op` has already, added to `values`. False where it cannot be joined.
bool join_bias(const Draft& draft, const Op& op, std::vector<double>& values) {
  const TensorId bias = input_or_none(op, kBiasInput);
  if (bias == kNoTensor) return true;
  const HostTensor* constant = draft.constant(bias);
  if (constant == nullptr || constant->type.shape != Shape{static_cast<int64_t>(values.size())}) {
    return false;
  }
  const double beta = op.kind == OpKind::kGemm ? op.attributes.get_float("beta", 1) : 1;
  const std::vector<double> old = to_doubles(*constant);
  for (size_t i = 0; i < values.size(); ++i) values[i] += beta * old[i];
  return true;
}

// Fuses `op` at position `add` if input `side` of the Add comes from a matrix op.
Result<bool> try_fuse(Draft& draft, Links& links, size_t add, size_t side, Changes& changes) {
  const Op& sum = links.op(add);
  const HostTensor* constant = draft.constant(sum.inputs[1 - side]);
  const auto before = open_matrix_op(links, sum.inputs[side]);
  if (constant == nullptr || !before) return false;
  const Shape& output = draft.shape(sum.inputs[side]);
  if (output.empty() || draft.shape(sum.outputs[0]) != output) return false;
  Op fused = links.op(*before);
  auto values = channel_values(*constant, output, channel_axis(fused, output));
  if (!values || !join_bias(draft, fused, *values)) return false;
  const TensorType type{draft.dtype(sum.outputs[0]), {static_cast<int64_t>(values->size())}};
  MODELD_ASSIGN(const TensorId bias,
                draft.add_constant(from_doubles(type, *values), sum.name + ".bias"));
  set_input(fused, kBiasInput, bias);
  if (fused.kind == OpKind::kGemm) fused.attributes.set("beta", 1.0);
  changes.push_back(fused_names(links.op(*before), sum));
  fuse(links, *before, add, std::move(fused));
  return true;
}

}  // namespace

Result<Changes> fuse_bias(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    if (links.op(i).kind != OpKind::kAdd) continue;
    MODELD_ASSIGN(const bool left, try_fuse(draft, links, i, 0, changes));
    if (left) continue;
    MODELD_TRY(try_fuse(draft, links, i, 1, changes));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
