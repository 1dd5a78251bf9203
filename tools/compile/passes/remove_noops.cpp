#include "tools/compile/passes/remove_noops.h"

#include <algorithm>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

bool moves_only_ones(const std::vector<int64_t>& perm, const Shape& shape) {
  int64_t previous = -1;
  for (const int64_t axis : perm) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    if (axis < previous) return false;
    previous = axis;
  }
  return true;
}

bool all_are(const std::vector<int64_t>& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(),
                     [wanted](int64_t value) { return value == wanted; });
}

// For ops whose output has the type of input 0.
bool keeps_elements(const Op& op, const Shape& shape) {
  switch (op.kind) {
    case OpKind::kReshape:
    case OpKind::kCast:
    case OpKind::kExpand:
    case OpKind::kTile:
    case OpKind::kPad:
      return true;
    case OpKind::kConcat:
      return op.inputs.size() == 1;
    case OpKind::kSlice:
      // Same extents: the whole axis, in order unless it runs backwards.
      return all_are(op.attributes.get_ints("starts"), 0);
    case OpKind::kTranspose:
      return moves_only_ones(op.attributes.get_ints("perm"), shape);
    default:
      return false;
  }
}

Op as_reshape(const Op& transpose, const Shape& shape) {
  Op reshape;
  reshape.kind = OpKind::kReshape;
  reshape.name = transpose.name;
  reshape.inputs = transpose.inputs;
  reshape.attributes.set("shape", shape);
  reshape.phase = transpose.phase;
  return reshape;
}

}  // namespace

Result<Changes> remove_noops(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.outputs.size() != 1 || op.inputs.empty()) continue;
    const TensorId in = op.inputs[0];
    const TensorId out = op.outputs[0];
    const std::string name = std::string(to_string(op.kind)) + " '" + printable(op.name) + "'";
    if (op.kind == OpKind::kTranspose && draft.type(in) != draft.type(out) &&
        moves_only_ones(op.attributes.get_ints("perm"), draft.shape(in))) {
      links.replace_op(i, as_reshape(op, draft.shape(out)));
      changes.push_back(name + " became a Reshape");
    } else if (draft.type(in) == draft.type(out) && keeps_elements(op, draft.shape(in)) &&
               links.bypass(i, in, out)) {
      changes.push_back("removed " + name);
    }
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
