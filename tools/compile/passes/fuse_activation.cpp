#include "tools/compile/passes/fuse_activation.h"

#include <optional>

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

struct Activation {
  std::string name;
  std::optional<double> alpha;
  std::optional<double> beta;
};

std::optional<Activation> clip(const Op& op) {
  if (!op.attributes.has("min")) return std::nullopt;
  const double low = op.attributes.get_float("min");
  if (op.attributes.has("max")) return Activation{"Clip", low, op.attributes.get_float("max")};
  if (low == 0) return Activation{"Relu", {}, {}};
  return std::nullopt;
}

std::optional<Activation> activation_of(const Op& op) {
  const double alpha = op.attributes.get_float("alpha");
  switch (op.kind) {
    case OpKind::kRelu:
    case OpKind::kSigmoid:
    case OpKind::kTanh:
    case OpKind::kSilu:
    case OpKind::kHardSwish:
      return Activation{std::string(to_string(op.kind)), {}, {}};
    case OpKind::kLeakyRelu:
    case OpKind::kElu:
      return Activation{std::string(to_string(op.kind)), alpha, {}};
    case OpKind::kHardSigmoid:
      return Activation{"HardSigmoid", alpha, op.attributes.get_float("beta")};
    case OpKind::kGelu:
      return Activation{
          op.attributes.get_string("approximate") == "tanh" ? "GeluTanh" : "Gelu", {}, {}};
    case OpKind::kClip:
      return clip(op);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Changes> fuse_activation(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.outputs.size() != 1 || op.inputs.size() != 1) continue;
    const auto activation = activation_of(op);
    if (!activation) continue;
    // open_matrix_op() does not serve here: a residual is added before the activation.
    const auto before = links.producer(op.inputs[0]);
    if (!before || !links.has_single_use(op.inputs[0])) continue;
    Op fused = links.op(*before);
    if (!is_matrix_op(fused.kind) || fused.attributes.has("activation")) continue;
    if (!is_float(draft.dtype(op.outputs[0]))) continue;
    fused.attributes.set("activation", activation->name);
    if (activation->alpha) fused.attributes.set("activation_alpha", *activation->alpha);
    if (activation->beta) fused.attributes.set("activation_beta", *activation->beta);
    changes.push_back(fused_names(links.op(*before), op));
    fuse(links, *before, i, std::move(fused));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
