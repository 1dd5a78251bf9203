#include "tools/compile/passes/scale_attention.h"

#include <optional>

#include "tools/compile/passes/constant_factor.h"
#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

// The plain product of two computed matrices that writes `scores` for one reader alone.
std::optional<size_t> product_of(const Links& links, const Draft& draft, TensorId scores) {
  const auto at = links.producer(scores, OpKind::kMatMul);
  if (!at || !links.has_single_use(scores)) return std::nullopt;
  const Op& op = links.op(*at);
  if (op.inputs.size() != 2 || op.attributes.has("activation")) return std::nullopt;
  for (const TensorId id : op.inputs) {
    if (draft.constant(id) != nullptr) return std::nullopt;
  }
  return at;
}

}  // namespace

Result<Changes> scale_attention(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& scaling = links.op(i);
    TensorId scores = kNoTensor;
    const auto factor = constant_factor(draft, scaling, scores);
    const auto at = factor ? product_of(links, draft, scores) : std::nullopt;
    if (!at || !is_float(draft.dtype(scores))) continue;
    if (draft.type(scores) != draft.type(scaling.outputs[0])) continue;
    const Op product = links.op(*at);
    if (product.phase != scaling.phase) continue;
    const auto elements = [&](size_t side) { return draft.type(product.inputs[side]).elements(); };
    const size_t side = elements(0) <= elements(1) ? 0 : 1;
    if (elements(side) >= draft.type(scores).elements()) continue;
    changes.push_back(fused_names(product, scaling) + " swapped");
    // The two ops change places: the scaling writes what were the scores, now the smaller factor.
    const TensorId smaller = product.inputs[side];
    Op first;
    first.kind = OpKind::kMul;
    first.name = scaling.name;
    first.phase = scaling.phase;
    MODELD_ASSIGN(
        const TensorId constant,
        draft.add_constant(from_doubles({draft.dtype(smaller), {}}, std::vector<double>{*factor}),
                           scaling.name + ".factor"));
    first.inputs = {smaller, constant};
    Op second = product;
    second.inputs[side] = scores;
    links.replace_op(i, std::move(second));
    links.replace_op(*at, std::move(first));
    draft.tensors[scores].type = draft.type(smaller);
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
