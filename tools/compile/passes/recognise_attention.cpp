#include "tools/compile/passes/recognise_attention.h"

#include <optional>

#include "tools/compile/passes/constant_factor.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

using Perm = std::vector<int64_t>;

// An operand behind its Transposes and scalings.
struct Operand {
  TensorId tensor = kNoTensor;
  Perm perm;  // empty: as it lies
};

struct Found {
  size_t last = 0;  // the op whose place the attention takes
  Operand q, k, v;
  Perm y_perm;
  double scale = 1;
  TensorId bias = kNoTensor;
};

class Matcher {
 public:
  Matcher(const Links& links, const Draft& draft) : links_(links), draft_(draft) {}

  std::optional<Found> match(size_t softmax_at) {
    const Op& softmax = links_.op(softmax_at);
    const auto rank = static_cast<int64_t>(draft_.shape(softmax.inputs[0]).size());
    if (softmax.attributes.get_int("axis") != rank - 1) return std::nullopt;
    phase_ = softmax.phase;
    const auto scores = product_above(softmax.inputs[0]);
    const auto mixture = scores ? product_below(softmax.outputs[0]) : std::nullopt;
    if (!mixture) return std::nullopt;
    const Op& first = links_.op(*scores);
    const Op& second = links_.op(*mixture);
    found_.q = operand(first.inputs[0], true);
    found_.k = operand(first.inputs[1], true);
    found_.v = operand(second.inputs[1], false);
    found_.last = *mixture;
    absorb_transpose_behind(second.outputs[0]);
    return found_;
  }

 private:
  bool is_product(const Op& op) const {
    return op.kind == OpKind::kMatMul && op.inputs.size() == 2 && op.phase == phase_ &&
           !op.attributes.has("activation") && draft_.shape(op.inputs[0]).size() >= 2 &&
           draft_.shape(op.inputs[1]).size() >= 2;
  }

  // The product that writes `scores`, below scalings and at most one addition; each for its reader
  // alone.
  std::optional<size_t> product_above(TensorId scores) {
    while (links_.has_single_use(scores)) {
      const auto at = links_.producer(scores);
      if (!at || links_.op(*at).phase != phase_) return std::nullopt;
      const Op& op = links_.op(*at);
      if (is_product(op)) return at;
      TensorId above = kNoTensor;
      if (const auto factor = constant_factor(draft_, op, above)) {
        found_.scale *= *factor;
      } else if (op.kind == OpKind::kAdd && found_.bias == kNoTensor && found_.scale == 1) {
        const size_t side = leads_to_product(op.inputs[0]) ? 0 : 1;
        above = op.inputs[side];
        found_.bias = op.inputs[1 - side];
      } else {
        return std::nullopt;
      }
      if (draft_.type(above) != draft_.type(scores)) return std::nullopt;
      scores = above;
    }
    return std::nullopt;
  }

  bool leads_to_product(TensorId tensor) const {
    while (true) {
      const auto at = links_.producer(tensor);
      if (!at) return false;
      if (is_product(links_.op(*at))) return true;
      if (!constant_factor(draft_, links_.op(*at), tensor)) return false;
    }
  }

  // The product of the shares with the values.
  std::optional<size_t> product_below(TensorId shares) const {
    if (!links_.has_single_use(shares)) return std::nullopt;
    const size_t at = links_.readers(shares)[0];
    const Op& op = links_.op(at);
    return is_product(op) && op.inputs[0] == shares ? std::optional(at) : std::nullopt;
  }

  // Whoever else reads what lies between keeps it.
  Operand operand(TensorId tensor, bool scaled) {
    Operand result{tensor, {}};
    while (const auto at = links_.producer(result.tensor)) {
      const Op& op = links_.op(*at);
      if (op.phase != phase_) break;
      TensorId above = kNoTensor;
      if (op.kind == OpKind::kTranspose) {
        result.perm = composed(op.attributes.get_ints("perm"), result.perm);
        result.tensor = op.inputs[0];
        continue;
      }
      const auto factor = scaled ? constant_factor(draft_, op, above) : std::nullopt;
      if (!factor || draft_.type(above) != draft_.type(result.tensor)) break;
      found_.scale *= *factor;
      result.tensor = above;
    }
    return result;
  }

  static Perm composed(const Perm& first, const Perm& second) {
    if (second.empty()) return first;
    Perm result;
    for (const int64_t axis : second) result.push_back(first[static_cast<size_t>(axis)]);
    return result;
  }

  void absorb_transpose_behind(TensorId mixture) {
    if (!links_.has_single_use(mixture)) return;
    const size_t at = links_.readers(mixture)[0];
    const Op& op = links_.op(at);
    if (op.kind != OpKind::kTranspose || op.phase != phase_) return;
    found_.y_perm = op.attributes.get_ints("perm");
    found_.last = at;
  }

  const Links& links_;
  const Draft& draft_;
  Phase phase_ = Phase::kModel;
  Found found_;
};

Result<Op> attention_of(Draft& draft, const Links& links, const Found& found) {
  Op op;
  op.kind = OpKind::kAttention;
  op.name = links.op(found.last).name;
  op.phase = links.op(found.last).phase;
  op.inputs = {found.q.tensor, found.k.tensor, found.v.tensor};
  if (found.scale != 1 || found.bias != kNoTensor) op.inputs.push_back(kNoTensor);
  if (found.scale != 1) {
    const TensorType type{draft.dtype(found.q.tensor), {}};
    MODELD_ASSIGN(op.inputs[3],
                  draft.add_constant(from_doubles(type, std::vector<double>{found.scale}),
                                     op.name + ".scale"));
  }
  if (found.bias != kNoTensor) op.inputs.push_back(found.bias);
  const auto set = [&](const char* name, const Perm& perm) {
    if (!perm.empty()) op.attributes.set(name, perm);
  };
  set("q_perm", found.q.perm);
  set("k_perm", found.k.perm);
  set("v_perm", found.v.perm);
  set("y_perm", found.y_perm);
  return op;
}

}  // namespace

Result<Changes> recognise_attention(Draft& draft) {
  Links links(draft);
  Changes changes;
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.kind != OpKind::kSoftmax || !is_float(draft.dtype(op.outputs[0]))) continue;
    const auto found = Matcher(links, draft).match(i);
    if (!found) continue;
    MODELD_ASSIGN(Op attention, attention_of(draft, links, *found));
    changes.push_back("ends at '" + printable(attention.name) + "'");
    links.replace_op(found->last, std::move(attention));
  }
  // What the op replaces is dead code now, unless somebody else reads it.
  links.finish();
  return changes;
}

}  // namespace modeld::compile
