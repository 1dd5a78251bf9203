#include "tools/compile/passes/dead_code.h"

#include <algorithm>

#include "tools/compile/text.h"

namespace modeld::compile {

Result<Changes> remove_dead_code(Draft& draft) {
  Links links(draft);
  Changes changes;
  // Backwards: an op's readers are decided before it is.
  for (size_t i = links.op_count(); i-- > 0;) {
    const Op& op = links.op(i);
    const bool read = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId id) {
      return links.is_root(id) || !links.readers(id).empty();
    });
    if (read) continue;
    changes.push_back("removed " + std::string(to_string(op.kind)) + " '" + printable(op.name) +
                      "'");
    links.remove_op(i);
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
