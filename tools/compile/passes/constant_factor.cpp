#include "tools/compile/passes/constant_factor.h"

#include <cmath>

namespace modeld::compile {

std::optional<double> constant_factor(const Draft& draft, const Op& op, TensorId& scaled) {
  if (op.kind != OpKind::kMul && op.kind != OpKind::kDiv) return std::nullopt;
  for (const size_t side : {1u, 0u}) {
    const HostTensor* constant = draft.constant(op.inputs[side]);
    if (constant == nullptr || constant->type.elements() != 1) continue;
    if (op.kind == OpKind::kDiv && side == 0) continue;
    const double value = to_doubles(*constant)[0];
    const double factor = op.kind == OpKind::kDiv ? 1 / value : value;
    if (!std::isfinite(factor)) continue;
    scaled = op.inputs[1 - side];
    return factor;
  }
  return std::nullopt;
}

}  // namespace modeld::compile
