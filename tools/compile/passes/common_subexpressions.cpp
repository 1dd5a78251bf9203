#include "tools/compile/passes/common_subexpressions.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

// The tensor that stands for all constants of this one's type and contents.
class Representatives {
 public:
  explicit Representatives(const Draft& draft) : draft_(draft) {}

  TensorId of(TensorId id) {
    const HostTensor* constant = draft_.constant(id);
    if (constant == nullptr) return id;
    const std::string_view text(reinterpret_cast<const char*>(constant->bytes.data()),
                                constant->bytes.size());
    std::vector<TensorId>& alike = by_hash_[std::hash<std::string_view>()(text)];
    for (const TensorId other : alike) {
      const HostTensor& known = *draft_.constant(other);
      if (known.type == constant->type && known.bytes == constant->bytes) return other;
    }
    alike.push_back(id);
    return id;
  }

 private:
  const Draft& draft_;
  std::unordered_map<size_t, std::vector<TensorId>> by_hash_;
};

bool computes_the_same(const Op& a, const Op& b) {
  return a.kind == b.kind && a.phase == b.phase && a.attributes == b.attributes;
}

}  // namespace

Result<Changes> merge_common_subexpressions(Draft& draft) {
  Links links(draft);
  Changes changes;
  Representatives representatives(draft);
  std::map<std::vector<TensorId>, std::vector<size_t>> by_inputs;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    std::vector<TensorId> inputs;
    for (const TensorId id : op.inputs) inputs.push_back(representatives.of(id));
    std::vector<size_t>& same_inputs = by_inputs[inputs];
    const auto first = std::find_if(same_inputs.begin(), same_inputs.end(), [&](size_t other) {
      return computes_the_same(links.op(other), op);
    });
    const bool named = std::any_of(op.outputs.begin(), op.outputs.end(),
                                   [&](TensorId id) { return links.is_root(id); });
    if (first == same_inputs.end()) {
      same_inputs.push_back(i);
      continue;
    }
    // An output of the program has to be written under its own name.
    if (named) continue;
    changes.push_back(fused_names(links.op(*first), op));
    const std::vector<TensorId> outputs = op.outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      links.replace_reads(outputs[k], links.op(*first).outputs[k]);
    }
    links.remove_op(i);
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
