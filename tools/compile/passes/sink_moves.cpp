#include "tools/compile/passes/sink_moves.h"

#include <algorithm>
#include <optional>

#include "tools/compile/passes/matrix_op.h"

namespace modeld::compile {
namespace {

bool is_unary_elementwise(OpKind kind) {
  return (kind >= OpKind::kAbs && kind <= OpKind::kTanh) || kind == OpKind::kCast;
}

bool is_binary_elementwise(const Op& op) {
  if (op.inputs.size() != 2) return false;
  return (op.kind >= OpKind::kAdd && op.kind <= OpKind::kSub);
}

// `constant` shaped so that transposing by `perm` gives what it was before, if it has at most one
// axis longer than 1 (then its elements stay in order).
std::optional<HostTensor> before_transpose(const HostTensor& constant,
                                           const std::vector<int64_t>& perm) {
  const Shape& shape = constant.type.shape;
  if (shape.size() > perm.size()) return std::nullopt;
  const size_t lead = perm.size() - shape.size();
  Shape moved(perm.size(), 1);
  int long_axes = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    ++long_axes;
    moved[static_cast<size_t>(perm[lead + i])] = shape[i];
  }
  if (long_axes > 1) return std::nullopt;
  if (long_axes == 0) moved.clear();  // one number has no axes to move
  return HostTensor{{constant.type.dtype, std::move(moved)}, constant.bytes};
}

Op same_move(TensorId input, const Op& like) {
  Op op = like;
  op.inputs = {input};
  return op;
}

class Sinker {
 public:
  explicit Sinker(Draft& draft) : draft_(draft), links_(draft) {}

  Result<Changes> run();

 private:
  // Each answers whether it moved the op at `at` behind its only reader.
  bool behind_unary(size_t at, size_t reader);
  Result<bool> behind_binary(size_t at, size_t reader);
  Result<bool> past_constant(size_t at, size_t reader, size_t side);
  bool past_another(size_t at, size_t reader);
  bool past_scalar(size_t at, size_t reader);
  // Swaps what the two ops do: `computing` (reading tensors not moved yet) comes first.
  void swap(size_t at, size_t reader, Op computing);

  Draft& draft_;
  Links links_;
  Changes changes_;
};

void Sinker::swap(size_t at, size_t reader, Op computing) {
  const Op move = links_.op(at);
  const TensorId between = move.outputs[0];
  changes_.push_back(fused_names(move, links_.op(reader)) + " swapped");
  draft_.tensors[between].type = {draft_.dtype(links_.op(reader).outputs[0]),
                                  draft_.shape(move.inputs[0])};
  links_.replace_op(reader, same_move(between, move));
  links_.replace_op(at, std::move(computing));
}

bool Sinker::behind_unary(size_t at, size_t reader) {
  Op computing = links_.op(reader);
  computing.inputs = {links_.op(at).inputs[0]};
  swap(at, reader, std::move(computing));
  return true;
}

Result<bool> Sinker::past_constant(size_t at, size_t reader, size_t side) {
  Op computing = links_.op(reader);
  const HostTensor* constant = draft_.constant(computing.inputs[1 - side]);
  if (constant == nullptr) return false;
  auto moved = before_transpose(*constant, links_.op(at).attributes.get_ints("perm"));
  if (!moved) return false;
  MODELD_ASSIGN(computing.inputs[1 - side],
                draft_.add_constant(std::move(*moved), computing.name + ".operand"));
  computing.inputs[side] = links_.op(at).inputs[0];
  swap(at, reader, std::move(computing));
  return true;
}

// Both operands transposed alike: one Transpose behind is enough.
bool Sinker::past_another(size_t at, size_t reader) {
  const Op& op = links_.op(reader);
  const auto left = links_.producer(op.inputs[0], OpKind::kTranspose);
  const auto right = links_.producer(op.inputs[1], OpKind::kTranspose);
  if (!left || !right || *left == *right || std::max(*left, *right) != at) return false;
  const Op& a = links_.op(*left);
  const Op& b = links_.op(*right);
  if (a.attributes != b.attributes || !links_.has_single_use(a.outputs[0]) ||
      !links_.has_single_use(b.outputs[0]) ||
      draft_.shape(a.inputs[0]) != draft_.shape(b.inputs[0])) {
    return false;
  }
  Op computing = op;
  computing.inputs = {a.inputs[0], b.inputs[0]};
  const size_t earlier = std::min(*left, *right);
  swap(at, reader, std::move(computing));
  links_.remove_op(earlier);
  return true;
}

// One number is the same for every element, wherever it lies.
bool Sinker::past_scalar(size_t at, size_t reader) {
  const Op& move = links_.op(at);
  Op computing = links_.op(reader);
  if (draft_.shape(computing.outputs[0]) != draft_.shape(move.outputs[0])) return false;
  const size_t side = computing.inputs[0] == move.outputs[0] ? 0 : 1;
  const HostTensor* constant = draft_.constant(computing.inputs[1 - side]);
  if (constant == nullptr || constant->type.elements() != 1) return false;
  if (constant->type.shape.size() > draft_.shape(move.inputs[0]).size()) return false;
  computing.inputs[side] = move.inputs[0];
  swap(at, reader, std::move(computing));
  return true;
}

Result<bool> Sinker::behind_binary(size_t at, size_t reader) {
  const Op& op = links_.op(reader);
  // Broadcasting to another shape would need another Transpose.
  if (draft_.shape(op.outputs[0]) != draft_.shape(links_.op(at).outputs[0])) return false;
  if (past_another(at, reader)) return true;
  const size_t side = op.inputs[0] == links_.op(at).outputs[0] ? 0 : 1;
  return past_constant(at, reader, side);
}

Result<Changes> Sinker::run() {
  for (size_t at = 0; at < links_.op_count(); ++at) {
    if (links_.removed(at)) continue;
    const OpKind kind = links_.op(at).kind;
    if (kind != OpKind::kTranspose && kind != OpKind::kReshape) continue;
    const TensorId out = links_.op(at).outputs[0];
    if (!links_.has_single_use(out)) continue;
    const size_t reader = links_.readers(out)[0];
    const Op& op = links_.op(reader);
    if (op.phase != links_.op(at).phase) continue;
    if (is_unary_elementwise(op.kind)) {
      behind_unary(at, reader);
    } else if (kind == OpKind::kTranspose && is_binary_elementwise(op)) {
      MODELD_TRY(behind_binary(at, reader));
    } else if (is_binary_elementwise(op)) {
      past_scalar(at, reader);
    }
  }
  links_.finish();
  return std::move(changes_);
}

}  // namespace

Result<Changes> sink_moves(Draft& draft) {
  return Sinker(draft).run();
}

}  // namespace modeld::compile
