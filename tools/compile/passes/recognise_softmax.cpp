#include "tools/compile/passes/recognise_softmax.h"

#include <optional>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

struct Found {
  TensorId input = kNoTensor;
  int64_t axis = 0;
};

// The one axis that the reduction of `kind` writing `tensor` reduces, keeping it as 1.
std::optional<Found> reduced_by(const Links& links, TensorId tensor, OpKind kind) {
  const auto at = links.producer(tensor, kind);
  if (!at) return std::nullopt;
  const Op& op = links.op(*at);
  const std::vector<int64_t> axes = op.attributes.get_ints("axes");
  if (axes.size() != 1 || op.attributes.get_int("keepdims") != 1) return std::nullopt;
  return Found{op.inputs[0], axes[0]};
}

// Without the largest taken off first, exp() overflows where Softmax does not: that is not the
// same.
std::optional<Found> match(const Links& links, const Op& quotient) {
  const TensorId powers = quotient.inputs[0];
  const auto sum = reduced_by(links, quotient.inputs[1], OpKind::kReduceSum);
  const auto exp = links.producer(powers, OpKind::kExp);
  if (!sum || sum->input != powers || !exp) return std::nullopt;
  const auto difference = links.producer(links.op(*exp).inputs[0], OpKind::kSub);
  if (!difference) return std::nullopt;
  const Op& sub = links.op(*difference);
  const auto largest = reduced_by(links, sub.inputs[1], OpKind::kReduceMax);
  if (!largest || largest->input != sub.inputs[0] || largest->axis != sum->axis) {
    return std::nullopt;
  }
  return Found{sub.inputs[0], sum->axis};
}

}  // namespace

Result<Changes> recognise_softmax(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.kind != OpKind::kDiv || !is_float(draft.dtype(op.outputs[0]))) continue;
    const auto found = match(links, op);
    if (!found || draft.type(found->input) != draft.type(op.outputs[0])) continue;
    Op softmax;
    softmax.kind = OpKind::kSoftmax;
    softmax.name = op.name;
    softmax.phase = op.phase;
    softmax.inputs = {found->input};
    softmax.attributes.set("axis", found->axis);
    changes.push_back("ends at '" + printable(op.name) + "'");
    links.replace_op(i, std::move(softmax));
  }
  // What the op replaces is dead code now, unless somebody else reads it.
  links.finish();
  return changes;
}

}  // namespace modeld::compile
