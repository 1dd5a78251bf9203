#include "tools/compile/passes/recognise_rms_norm.h"

#include "tools/compile/passes/normalisation_pattern.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

std::optional<Normalised> match(const NormalisationPattern& pattern, const Op& op) {
  Normalised found;
  const auto below = pattern.under_root(op, found.input);
  const auto mean = below ? pattern.without_epsilon(*below, found.epsilon) : std::nullopt;
  const auto squares = mean ? pattern.mean_of(*mean, found.axis) : std::nullopt;
  const auto input = squares ? pattern.square_of(*squares) : std::nullopt;
  if (!input || *input != found.input) return std::nullopt;
  return found;
}

// The Cast that alone reads `tensor`.
std::optional<size_t> cast_behind(const Links& links, TensorId tensor) {
  if (!links.has_single_use(tensor)) return std::nullopt;
  const size_t at = links.readers(tensor)[0];
  return links.op(at).kind == OpKind::kCast ? std::optional(at) : std::nullopt;
}

// The constant as `dtype`, if that changes no value.
std::optional<HostTensor> exactly(const HostTensor& constant, DType dtype) {
  const std::vector<double> values = to_doubles(constant);
  HostTensor stored = from_doubles({dtype, constant.type.shape}, values);
  if (to_doubles(stored) != values) return std::nullopt;
  return stored;
}

class Replacement {
 public:
  Replacement(Draft& draft, Links& links, size_t at, const Normalised& found)
      : draft_(draft), links_(links), last_(at), input_(found.input), found_(found) {
    const Shape& shape = draft.shape(found.input);
    tail_.assign(shape.begin() + found.axis, shape.end());
    scale_ = ones(draft.dtype(found.input), tail_);
  }

  // Replaces what was found, and what follows it, by one op in the last one's place.
  Status run(Changes& changes) {
    absorb_scale();
    absorb_casts();
    Op norm;
    norm.kind = OpKind::kRmsNormalization;
    norm.name = links_.op(last_).name;
    norm.phase = links_.op(last_).phase;
    norm.attributes.set("axis", found_.axis);
    norm.attributes.set("epsilon", found_.epsilon);
    MODELD_ASSIGN(const TensorId scale,
                  draft_.add_constant(std::move(scale_), norm.name + ".scale"));
    norm.inputs = {input_, scale};
    changes.push_back("ends at '" + printable(norm.name) + "'");
    links_.replace_op(last_, std::move(norm));
    return {};
  }

 private:
  TensorId result() const { return links_.op(last_).outputs[0]; }

  bool absorb_scale() {
    auto mul = constant_follower(links_, draft_, result(), OpKind::kMul, tail_);
    if (!mul) return false;
    last_ = mul->at;
    scale_ = std::move(mul->constant);
    return true;
  }

  // x half -> Cast -> the pattern -> Cast back [-> Mul by a constant]: the op reads x itself.
  void absorb_casts() {
    const auto before = links_.producer(input_, OpKind::kCast);
    const auto behind = cast_behind(links_, result());
    if (!before || !behind) return;
    const TensorId half = links_.op(*before).inputs[0];
    const DType dtype = draft_.dtype(half);
    const bool widened = is_float(dtype) && size_of(dtype) == 2;
    if (!widened || draft_.dtype(input_) != DType::kFloat32) return;
    if (draft_.dtype(links_.op(*behind).outputs[0]) != dtype) return;
    auto scale = exactly(scale_, dtype);
    if (!scale) return;
    const bool plain = uniform_value(scale_) == 1.0;
    input_ = half;
    scale_ = std::move(*scale);
    last_ = *behind;
    if (plain) absorb_scale();
  }

  Draft& draft_;
  Links& links_;
  size_t last_;
  TensorId input_;
  const Normalised found_;
  Shape tail_;
  HostTensor scale_;
};

}  // namespace

Result<Changes> recognise_rms_norm(Draft& draft) {
  const auto match_whole = [&](const NormalisationPattern& pattern, const Op& op) {
    auto found = match(pattern, op);
    if (found && draft.type(found->input) != draft.type(op.outputs[0])) found.reset();
    return found;
  };
  return recognise_normalisations(
      draft, match_whole, [&](Links& links, size_t at, const Normalised& found, Changes& changes) {
        return Replacement(draft, links, at, found).run(changes);
      });
}

}  // namespace modeld::compile
