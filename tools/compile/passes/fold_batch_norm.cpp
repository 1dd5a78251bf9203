#include "tools/compile/passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/compile/passes/channel_terms.h"

namespace modeld::compile {
namespace {

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::optional<ChannelAffine> affine_of(const Draft& draft, const Op& norm) {
  for (size_t i = 1; i < 5; ++i) {
    if (draft.constant(norm.inputs[i]) == nullptr) return std::nullopt;
  }
  const auto values = [&](size_t input) { return to_doubles(*draft.constant(norm.inputs[input])); };
  const std::vector<double> scale = values(1);
  const std::vector<double> shift = values(2);
  const std::vector<double> mean = values(3);
  const std::vector<double> variance = values(4);
  const double epsilon = norm.attributes.get_float("epsilon");
  ChannelAffine affine;
  for (size_t c = 0; c < scale.size(); ++c) {
    affine.factor.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    affine.term.push_back(shift[c] - mean[c] * affine.factor[c]);
  }
  if (!all_finite(affine.factor) || !all_finite(affine.term)) return std::nullopt;
  return affine;
}

}  // namespace

Result<Changes> fold_batch_norm(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& norm = links.op(i);
    if (norm.kind != OpKind::kBatchNormalization) continue;
    const auto before = open_matrix_op(links, norm.inputs[0]);
    // A MatMul has no channel axis 1 unless it is a plain matrix, and then it becomes a Gemm.
    if (!before || links.op(*before).kind == OpKind::kMatMul) continue;
    const auto affine = affine_of(draft, norm);
    if (!affine) continue;
    MODELD_ASSIGN(auto folded, apply_affine(draft, links.op(*before), *affine));
    if (!folded) continue;
    changes.push_back(fused_names(links.op(*before), norm));
    fuse(links, *before, i, std::move(*folded));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
