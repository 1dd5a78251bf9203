#include "tools/compile/passes/merge_moves.h"

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

std::vector<int64_t> composed(const std::vector<int64_t>& first,
                              const std::vector<int64_t>& second) {
  std::vector<int64_t> result;
  for (const int64_t axis : second) result.push_back(first[static_cast<size_t>(axis)]);
  return result;
}

}  // namespace

Result<Changes> merge_moves(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& second = links.op(i);
    if (second.kind != OpKind::kReshape && second.kind != OpKind::kTranspose) continue;
    const auto before = links.producer(second.inputs[0], second.kind);
    if (!before) continue;
    const Op& first = links.op(*before);
    Op merged = second;
    merged.inputs = first.inputs;
    if (second.kind == OpKind::kTranspose) {
      merged.attributes.set(
          "perm", composed(first.attributes.get_ints("perm"), second.attributes.get_ints("perm")));
    }
    changes.push_back(fused_names(first, second));
    // The first one may have other readers; if not, it is dead code now.
    links.replace_op(i, std::move(merged));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
