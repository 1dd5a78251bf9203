#include "tools/compile/passes/matmul_to_gemm.h"

#include "tools/compile/text.h"

namespace modeld::compile {

Result<Changes> matmul_to_gemm(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.kind != OpKind::kMatMul || draft.constant(op.inputs[1]) == nullptr) continue;
    if (draft.shape(op.inputs[0]).size() != 2 || draft.shape(op.inputs[1]).size() != 2) continue;
    Op gemm = op;
    gemm.kind = OpKind::kGemm;
    gemm.attributes.set("alpha", 1.0);
    gemm.attributes.set("beta", 1.0);
    gemm.attributes.set("trans_a", int64_t{0});
    gemm.attributes.set("trans_b", int64_t{0});
    changes.push_back("MatMul '" + printable(op.name) + "' became a Gemm");
    links.replace_op(i, std::move(gemm));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
