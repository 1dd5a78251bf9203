#include "tools/compile/passes/fuse_residual.h"

#include <optional>

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

std::optional<size_t> open_for_residual(const Links& links, TensorId tensor) {
  const auto found = open_matrix_op(links, tensor);
  if (!found || links.op(*found).kind == OpKind::kConvTranspose) return std::nullopt;
  return found;
}

// Of two candidates the later one: the other one's result is the residual.
std::optional<size_t> side_to_fuse(const Links& links, const Op& sum) {
  const auto left = open_for_residual(links, sum.inputs[0]);
  const auto right = open_for_residual(links, sum.inputs[1]);
  if (left && right) return *left > *right ? 0 : 1;
  if (left) return 0;
  if (right) return 1;
  return std::nullopt;
}

}  // namespace

Result<Changes> fuse_residual(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& sum = links.op(i);
    if (sum.kind != OpKind::kAdd) continue;
    // Broadcasting sums have another shape than one of their inputs.
    if (draft.type(sum.inputs[0]) != draft.type(sum.inputs[1])) continue;
    const auto side = side_to_fuse(links, sum);
    if (!side) continue;
    const size_t before = *links.producer(sum.inputs[*side]);
    Op fused = links.op(before);
    set_input(fused, kResidualInput, sum.inputs[1 - *side]);
    changes.push_back(fused_names(links.op(before), sum));
    fuse(links, before, i, std::move(fused));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
