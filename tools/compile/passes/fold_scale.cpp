#include "tools/compile/passes/fold_scale.h"

#include <optional>

#include "tools/compile/passes/channel_terms.h"

namespace modeld::compile {
namespace {

// Folds the Mul at `at` if its input `side` comes from a matrix op.
Result<bool> try_fold(Draft& draft, Links& links, size_t at, size_t side, Changes& changes) {
  const Op& product = links.op(at);
  const HostTensor* constant = draft.constant(product.inputs[1 - side]);
  const auto before = open_matrix_op(links, product.inputs[side]);
  if (constant == nullptr || !before) return false;
  const Shape& output = draft.shape(product.inputs[side]);
  if (output.empty() || draft.shape(product.outputs[0]) != output) return false;
  if (!is_float(draft.dtype(product.outputs[0]))) return false;
  auto factor = channel_values(*constant, output, channel_axis(links.op(*before), output));
  if (!factor) return false;
  const ChannelAffine affine{*factor, std::vector<double>(factor->size(), 0)};
  MODELD_ASSIGN(auto folded, apply_affine(draft, links.op(*before), affine));
  if (!folded) return false;
  changes.push_back(fused_names(links.op(*before), product));
  fuse(links, *before, at, std::move(*folded));
  return true;
}

}  // namespace

Result<Changes> fold_scale(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    if (links.op(i).kind != OpKind::kMul) continue;
    MODELD_ASSIGN(const bool left, try_fold(draft, links, i, 0, changes));
    if (left) continue;
    MODELD_TRY(try_fold(draft, links, i, 1, changes));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
