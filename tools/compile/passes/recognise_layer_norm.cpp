#include "tools/compile/passes/recognise_layer_norm.h"

#include "tools/compile/passes/normalisation_pattern.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

// x if `tensor` is x - mean(x).
std::optional<TensorId> centred(const NormalisationPattern& pattern, TensorId tensor,
                                int64_t& axis) {
  const Op* difference = pattern.producer(tensor, OpKind::kSub);
  if (difference == nullptr) return std::nullopt;
  const auto of = pattern.mean_of(difference->inputs[1], axis);
  if (!of || *of != difference->inputs[0]) return std::nullopt;
  return of;
}

// What the Div or Mul `op` normalises, if it is the end of the pattern.
std::optional<Normalised> match(const NormalisationPattern& pattern, const Op& op) {
  TensorId numerator = kNoTensor;
  const auto below = pattern.under_root(op, numerator);
  Normalised found;
  const auto input = below ? centred(pattern, numerator, found.axis) : std::nullopt;
  const auto variance = input ? pattern.without_epsilon(*below, found.epsilon) : std::nullopt;
  int64_t variance_axis = -1;
  const auto squares = variance ? pattern.mean_of(*variance, variance_axis) : std::nullopt;
  const auto difference = squares ? pattern.square_of(*squares) : std::nullopt;
  int64_t centre_axis = -1;
  const auto same = difference ? centred(pattern, *difference, centre_axis) : std::nullopt;
  if (!same || same != input) return std::nullopt;
  if (variance_axis != found.axis || centre_axis != found.axis) return std::nullopt;
  found.input = *input;
  return found;
}

// Replaces the op at `at`, and a Mul and an Add behind it, by one op in the last one's place.
Status replace(Draft& draft, Links& links, size_t at, const Normalised& found, Changes& changes) {
  const Shape& shape = draft.shape(found.input);
  const Shape tail(shape.begin() + found.axis, shape.end());
  size_t last = at;
  HostTensor scale = ones(draft.dtype(found.input), tail);
  if (auto mul = constant_follower(links, draft, links.op(last).outputs[0], OpKind::kMul, tail)) {
    last = mul->at;
    scale = std::move(mul->constant);
  }
  auto add = constant_follower(links, draft, links.op(last).outputs[0], OpKind::kAdd, tail);
  if (add) last = add->at;
  Op norm;
  norm.kind = OpKind::kLayerNormalization;
  norm.name = links.op(last).name;
  norm.phase = links.op(last).phase;
  norm.attributes.set("axis", found.axis);
  norm.attributes.set("epsilon", found.epsilon);
  MODELD_ASSIGN(const TensorId scale_id,
                draft.add_constant(std::move(scale), norm.name + ".scale"));
  norm.inputs = {found.input, scale_id};
  if (add) {
    MODELD_ASSIGN(const TensorId bias_id,
                  draft.add_constant(std::move(add->constant), norm.name + ".bias"));
    norm.inputs.push_back(bias_id);
  }
  changes.push_back("ends at '" + printable(norm.name) + "'");
  links.replace_op(last, std::move(norm));
  return {};
}

}  // namespace

Result<Changes> recognise_layer_norm(Draft& draft) {
  return recognise_normalisations(
      draft, match, [&](Links& links, size_t at, const Normalised& found, Changes& changes) {
        return replace(draft, links, at, found, changes);
      });
}

}  // namespace modeld::compile
