#include "tools/compile/passes/recognise_activations.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

// A tensor as coefficient times the product of other tensors.
struct Product {
  double coefficient = 1;
  std::vector<TensorId> factors;
};

constexpr int kMaxFactors = 8;

class Matcher {
 public:
  explicit Matcher(const Links& links, const Draft& draft) : links_(links), draft_(draft) {}

  // The op that the value of `tensor` amounts to, if it is one of those known.
  std::optional<Op> match(TensorId tensor) const;

 private:
  std::optional<double> scalar(TensorId tensor) const;
  bool is(double value, double wanted, TensorId like) const;
  // Through Mul, Div by a constant and small constant powers; intermediate results that others
  // read stay factors.
  void collect(TensorId tensor, bool top, Product& product) const;
  Product product_of(TensorId tensor) const;
  // If `tensor` is `other + c`: that other tensor.
  std::optional<TensorId> plus(TensorId tensor, double c) const;

  bool is_silu(TensorId x, TensorId s, double coefficient) const;
  bool is_hard_swish(TensorId x, TensorId s, double coefficient) const;
  bool is_gelu(TensorId x, TensorId s, double coefficient) const;
  bool is_gelu_tanh(TensorId x, TensorId s, double coefficient) const;
  bool is_tanh_argument(TensorId x, TensorId u) const;
  bool is_power(const Product& product, TensorId x, size_t times, double coefficient) const;

  const Links& links_;
  const Draft& draft_;
};

std::optional<double> Matcher::scalar(TensorId tensor) const {
  const HostTensor* constant = draft_.constant(tensor);
  if (constant == nullptr || constant->type.elements() != 1) return std::nullopt;
  return to_doubles(*constant)[0];
}

// Agreement to a few roundings of the constant itself.
bool Matcher::is(double value, double wanted, TensorId like) const {
  const DType dtype = draft_.dtype(like);
  const double rounding = dtype == DType::kBFloat16 ? 8e-3 : dtype == DType::kFloat16 ? 1e-3 : 1e-6;
  return std::abs(value - wanted) <= std::abs(wanted) * rounding;
}

void Matcher::collect(TensorId tensor, bool top, Product& product) const {
  const auto at = links_.producer(tensor);
  const bool inside = at && (top || links_.has_single_use(tensor));
  if (!inside || product.factors.size() > kMaxFactors) {
    product.factors.push_back(tensor);
    return;
  }
  const Op& op = links_.op(*at);
  if (op.kind == OpKind::kMul) {
    for (const TensorId input : op.inputs) {
      if (const auto value = scalar(input)) {
        product.coefficient *= *value;
      } else {
        collect(input, false, product);
      }
    }
    return;
  }
  const auto right = op.inputs.size() == 2 ? scalar(op.inputs[1]) : std::nullopt;
  if (op.kind == OpKind::kDiv && right) {
    product.coefficient /= *right;
    collect(op.inputs[0], false, product);
  } else if (op.kind == OpKind::kPow && right && (*right == 2 || *right == 3)) {
    for (int i = 0; i < static_cast<int>(*right); ++i) product.factors.push_back(op.inputs[0]);
  } else {
    product.factors.push_back(tensor);
  }
}

Product Matcher::product_of(TensorId tensor) const {
  Product product;
  collect(tensor, true, product);
  return product;
}

std::optional<TensorId> Matcher::plus(TensorId tensor, double c) const {
  const auto at = links_.producer(tensor, OpKind::kAdd);
  if (!at) return std::nullopt;
  const Op& op = links_.op(*at);
  for (const size_t side : {0u, 1u}) {
    const auto value = scalar(op.inputs[side]);
    if (value && is(*value, c, tensor)) return op.inputs[1 - side];
  }
  return std::nullopt;
}

bool Matcher::is_power(const Product& product, TensorId x, size_t times, double coefficient) const {
  return product.factors == std::vector<TensorId>(times, x) &&
         is(product.coefficient, coefficient, x);
}

bool Matcher::is_silu(TensorId x, TensorId s, double coefficient) const {
  const auto at = links_.producer(s, OpKind::kSigmoid);
  return at && links_.op(*at).inputs[0] == x && coefficient == 1;
}

bool Matcher::is_hard_swish(TensorId x, TensorId s, double coefficient) const {
  if (const auto at = links_.producer(s, OpKind::kHardSigmoid)) {
    const Op& op = links_.op(*at);
    return op.inputs[0] == x && coefficient == 1 &&
           is(op.attributes.get_float("alpha"), 1.0 / 6, x) &&
           is(op.attributes.get_float("beta"), 0.5, x);
  }
  const auto at = links_.producer(s, OpKind::kClip);
  if (!at || !is(coefficient, 1.0 / 6, x)) return false;
  const Op& op = links_.op(*at);
  return op.attributes.has("min") && op.attributes.get_float("min") == 0 &&
         op.attributes.get_float("max") == 6 && plus(op.inputs[0], 3) == x;
}

// 0.5 * x * (1 + erf(x / sqrt(2)))
bool Matcher::is_gelu(TensorId x, TensorId s, double coefficient) const {
  if (!is(coefficient, 0.5, x)) return false;
  const auto erf = plus(s, 1);
  const auto at = erf ? links_.producer(*erf, OpKind::kErf) : std::nullopt;
  return at && is_power(product_of(links_.op(*at).inputs[0]), x, 1, 0.70710678118654752);
}

// sqrt(2/pi) * (x + 0.044715 x^3), or with x taken out of the bracket.
bool Matcher::is_tanh_argument(TensorId x, TensorId u) const {
  const Product product = product_of(u);
  if (!is(product.coefficient, 0.79788456080286536, x)) return false;
  if (product.factors.size() == 1) {
    const auto at = links_.producer(product.factors[0], OpKind::kAdd);
    if (!at) return false;
    const Op& op = links_.op(*at);
    for (const size_t side : {0u, 1u}) {
      if (op.inputs[side] == x && is_power(product_of(op.inputs[1 - side]), x, 3, 0.044715)) {
        return true;
      }
    }
    return false;
  }
  if (product.factors.size() != 2) return false;
  const size_t side = product.factors[0] == x ? 1 : 0;
  const auto square = plus(product.factors[side], 1);
  return product.factors[1 - side] == x && square && is_power(product_of(*square), x, 2, 0.044715);
}

bool Matcher::is_gelu_tanh(TensorId x, TensorId s, double coefficient) const {
  if (!is(coefficient, 0.5, x)) return false;
  const auto tanh = plus(s, 1);
  const auto at = tanh ? links_.producer(*tanh, OpKind::kTanh) : std::nullopt;
  return at && is_tanh_argument(x, links_.op(*at).inputs[0]);
}

std::optional<Op> Matcher::match(TensorId tensor) const {
  const Product product = product_of(tensor);
  if (product.factors.size() != 2) return std::nullopt;
  for (const size_t side : {0u, 1u}) {
    const TensorId x = product.factors[side];
    const TensorId s = product.factors[1 - side];
    if (draft_.type(x) != draft_.type(tensor)) continue;
    Op op;
    op.inputs = {x};
    if (is_silu(x, s, product.coefficient)) {
      op.kind = OpKind::kSilu;
    } else if (is_hard_swish(x, s, product.coefficient)) {
      op.kind = OpKind::kHardSwish;
    } else if (is_gelu(x, s, product.coefficient)) {
      op.kind = OpKind::kGelu;
      op.attributes.set("approximate", std::string("none"));
    } else if (is_gelu_tanh(x, s, product.coefficient)) {
      op.kind = OpKind::kGelu;
      op.attributes.set("approximate", std::string("tanh"));
    } else {
      continue;
    }
    return op;
  }
  return std::nullopt;
}

}  // namespace

Result<Changes> recognise_activations(Draft& draft) {
  Links links(draft);
  Changes changes;
  const Matcher matcher(links, draft);
  for (size_t i = 0; i < links.op_count(); ++i) {
    const Op& op = links.op(i);
    if (op.kind != OpKind::kMul && op.kind != OpKind::kDiv) continue;
    if (!is_float(draft.dtype(op.outputs[0]))) continue;
    auto found = matcher.match(op.outputs[0]);
    if (!found) continue;
    found->name = op.name;
    found->phase = op.phase;
    changes.push_back(std::string(to_string(found->kind)) + " ends at '" + printable(op.name) +
                      "'");
    links.replace_op(i, std::move(*found));
  }
  links.finish();
  return changes;
}

}  // namespace modeld::compile
