#include "runtime/cpu/activation.h"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime/cpu/vector_math.h"

namespace modeld::cpu {
namespace {

using math::choose;

template <typename Function>
void map(const float* from, float* to, size_t count, Function function) {
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (size_t i = 0; i < count; ++i) to[i] = function(from[i]);
  });
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

std::optional<Activation> fused_activation(const Attributes& attributes) {
  if (!attributes.has("activation")) return std::nullopt;
  const std::string name = attributes.get_string("activation");
  const auto alpha = static_cast<float>(attributes.get_float("activation_alpha"));
  const auto beta = static_cast<float>(attributes.get_float("activation_beta"));
  if (name == "GeluTanh") return Activation{OpKind::kGelu, 1, 0};
  if (name == "Gelu") return Activation{OpKind::kGelu, 0, 0};
  const auto kind = parse_op_kind(name);
  if (!kind) return std::nullopt;
  return Activation{*kind, alpha, beta};
}

std::optional<Activation> unary_activation(OpKind kind, const Attributes& attributes) {
  if (kind < OpKind::kAbs || kind > OpKind::kTanh || kind == OpKind::kNot) return std::nullopt;
  if (kind == OpKind::kGelu) {
    return Activation{kind, attributes.get_string("approximate") == "tanh" ? 1.0f : 0.0f, 0};
  }
  if (kind == OpKind::kClip) {
    return Activation{kind, static_cast<float>(attributes.get_float("min", -kInfinity)),
                      static_cast<float>(attributes.get_float("max", kInfinity))};
  }
  return Activation{kind, static_cast<float>(attributes.get_float("alpha")),
                    static_cast<float>(attributes.get_float("beta"))};
}

void apply(const Activation& activation, const float* from, float* to, size_t count) {
  const float alpha = activation.alpha;
  const float beta = activation.beta;
#define MODELD_MAP(expression) \
  return map(from, to, count,  \
             [=]([[maybe_unused]] float x) MODELD_ALWAYS_INLINE { return expression; })
  switch (activation.kind) {
    case OpKind::kAbs:
      MODELD_MAP(std::fabs(x));
    case OpKind::kCeil:
      MODELD_MAP(std::ceil(x));
    case OpKind::kClip:
      MODELD_MAP(math::clamp(x, alpha, beta));
    case OpKind::kElu:
      MODELD_MAP(choose(x < 0.0f, alpha * math::expm1(x), x));
    case OpKind::kErf:
      MODELD_MAP(math::erf(x));
    case OpKind::kExp:
      MODELD_MAP(math::exp(x));
    case OpKind::kFloor:
      MODELD_MAP(std::floor(x));
    case OpKind::kGelu:
      if (alpha != 0) MODELD_MAP(math::gelu_tanh(x));
      MODELD_MAP(math::gelu(x));
    case OpKind::kHardSigmoid:
      MODELD_MAP(math::clamp(alpha * x + beta, 0.0f, 1.0f));
    case OpKind::kHardSwish:
      MODELD_MAP(x * math::clamp(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f));
    case OpKind::kLeakyRelu:
      MODELD_MAP(choose(x < 0.0f, alpha * x, x));
    case OpKind::kLog:
      MODELD_MAP(math::log(x));
    case OpKind::kNeg:
      MODELD_MAP(-x);
    case OpKind::kReciprocal:
      MODELD_MAP(1.0f / x);
    case OpKind::kRelu:
      MODELD_MAP(choose(x < 0.0f, 0.0f, x));
    case OpKind::kRound:
      MODELD_MAP(std::rint(x));
    case OpKind::kSigmoid:
      MODELD_MAP(math::sigmoid(x));
    case OpKind::kSilu:
      MODELD_MAP(math::silu(x));
    case OpKind::kSoftplus:
      MODELD_MAP(math::softplus(x));
    case OpKind::kSqrt:
      MODELD_MAP(std::sqrt(x));
    case OpKind::kAcos:
      MODELD_MAP(std::acos(x));
    case OpKind::kAcosh:
      MODELD_MAP(std::acosh(x));
    case OpKind::kAsin:
      MODELD_MAP(std::asin(x));
    case OpKind::kAsinh:
      MODELD_MAP(std::asinh(x));
    case OpKind::kAtan:
      MODELD_MAP(std::atan(x));
    case OpKind::kAtanh:
      MODELD_MAP(std::atanh(x));
    case OpKind::kCos:
      MODELD_MAP(std::cos(x));
    case OpKind::kCosh:
      MODELD_MAP(std::cosh(x));
    case OpKind::kMish:
      MODELD_MAP(x * math::tanh(math::softplus(x)));
    case OpKind::kSign:
      MODELD_MAP(choose(x > 0.0f, 1.0f, choose(x < 0.0f, -1.0f, choose(x != x, x, 0.0f))));
    case OpKind::kSin:
      MODELD_MAP(std::sin(x));
    case OpKind::kSinh:
      MODELD_MAP(std::sinh(x));
    case OpKind::kTan:
      MODELD_MAP(std::tan(x));
    default:
      MODELD_MAP(math::tanh(x));
  }
#undef MODELD_MAP
}

}  // namespace modeld::cpu
