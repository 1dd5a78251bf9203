// The pieces of normalisations as exporters spell them out: means, squares, inverse roots, and the
// constants that scale and shift the result.
#pragma once

#include <functional>
#include <optional>

#include "tools/compile/links.h"
#include "tools/compile/passes/pass.h"

namespace modeld::compile {

// Answers questions about what writes a tensor; nothing is changed. Both references must outlive
// the object.
class NormalisationPattern {
 public:
  NormalisationPattern(const Links& links, const Draft& draft) : links_(links), draft_(draft) {}

  const Op* producer(TensorId tensor, OpKind kind) const;
  // The value of a constant of one element.
  std::optional<double> scalar(TensorId tensor) const;
  // The input of a mean over the axes from `axis` to the last, kept as 1.
  std::optional<TensorId> mean_of(TensorId tensor, int64_t& axis) const;
  // t if `op` is anything times 1 / sqrt(t), however that is written; `numerator` is the thing.
  std::optional<TensorId> under_root(const Op& op, TensorId& numerator) const;
  // t if `tensor` is t * t or t ^ 2.
  std::optional<TensorId> square_of(TensorId tensor) const;
  // t if `tensor` is t + epsilon with a constant epsilon of at least 0.
  std::optional<TensorId> without_epsilon(TensorId tensor, double& epsilon) const;

 private:
  // t if `tensor` is 1 / sqrt(t).
  std::optional<TensorId> inverse_root(TensorId tensor) const;

  const Links& links_;
  const Draft& draft_;
};

// What the last Div or Mul of a pattern normalises: `input`, over the axes from `axis` to the last.
struct Normalised {
  TensorId input = kNoTensor;
  int64_t axis = 0;
  double epsilon = 0;
};

// Replaces every pattern that `match` finds to end at an op of floats. `replace` is given the op's
// place; what the pattern leaves behind is dead code unless somebody else reads it.
Result<Changes> recognise_normalisations(
    Draft& draft,
    const std::function<std::optional<Normalised>(const NormalisationPattern&, const Op&)>& match,
    const std::function<Status(Links&, size_t at, const Normalised&, Changes&)>& replace);

// The op of `kind` that alone reads `tensor` and combines it with a constant of shape `tail` (apart
// from leading ones), giving the tensor's type again.
struct ConstantFollower {
  size_t at;
  HostTensor constant;  // of shape `tail`
};
std::optional<ConstantFollower> constant_follower(const Links& links, const Draft& draft,
                                                  TensorId tensor, OpKind kind, const Shape& tail);

HostTensor ones(DType dtype, const Shape& shape);

}  // namespace modeld::compile
