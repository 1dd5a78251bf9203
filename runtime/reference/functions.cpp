#include "runtime/reference/functions.h"

#include <array>
#include <limits>
#include <numbers>
#include <string>

namespace modeld::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double identity(double x, double, double) {
  return x;
}
double relu(double x, double, double) {
  return x < 0 ? 0 : x;
}
// The upper bound wins where the two cross, as in NumPy.
double clip(double x, double low, double high) {
  return smaller(larger(x, low), high);
}
double sigmoid(double x, double, double) {
  return 1 / (1 + std::exp(-x));
}
double silu(double x, double, double) {
  return x * sigmoid(x, 0, 0);
}
double hyperbolic_tangent(double x, double, double) {
  return std::tanh(x);
}
double gelu(double x, double, double) {
  return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
}
// ONNX Gelu, approximate = tanh.
double gelu_tanh(double x, double, double) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}
double hard_sigmoid(double x, double alpha, double beta) {
  return clip(alpha * x + beta, 0, 1);
}
double hard_swish(double x, double, double) {
  return x * clip(x / 6 + 0.5, 0, 1);
}
double leaky_relu(double x, double alpha, double) {
  return x < 0 ? alpha * x : x;
}
double elu(double x, double alpha, double) {
  return x < 0 ? alpha * std::expm1(x) : x;
}
// log(1 + exp(x)) without overflow.
double softplus(double x, double, double) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
double absolute(double x, double, double) {
  return std::fabs(x);
}
double ceiling(double x, double, double) {
  return std::ceil(x);
}
double floored(double x, double, double) {
  return std::floor(x);
}
double error_function(double x, double, double) {
  return std::erf(x);
}
double exponential(double x, double, double) {
  return std::exp(x);
}
double logarithm(double x, double, double) {
  return std::log(x);
}
double negated(double x, double, double) {
  return -x;
}
double reciprocal(double x, double, double) {
  return 1 / x;
}
// The default rounding mode: ties to even.
double rounded(double x, double, double) {
  return std::nearbyint(x);
}
double square_root(double x, double, double) {
  return std::sqrt(x);
}

double arc_cosine(double x, double, double) {
  return std::acos(x);
}
double area_cosine(double x, double, double) {
  return std::acosh(x);
}
double arc_sine(double x, double, double) {
  return std::asin(x);
}
double area_sine(double x, double, double) {
  return std::asinh(x);
}
double arc_tangent(double x, double, double) {
  return std::atan(x);
}
double area_tangent(double x, double, double) {
  return std::atanh(x);
}
double cosine(double x, double, double) {
  return std::cos(x);
}
double hyperbolic_cosine(double x, double, double) {
  return std::cosh(x);
}
double sine(double x, double, double) {
  return std::sin(x);
}
double hyperbolic_sine(double x, double, double) {
  return std::sinh(x);
}
double tangent(double x, double, double) {
  return std::tan(x);
}
// NaN stays.
double sign(double x, double, double) {
  return std::isnan(x) ? x : (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0);
}
double mish(double x, double, double) {
  return x * std::tanh(softplus(x, 0, 0));
}

}  // namespace

RealFunction unary_function(OpKind kind, const Attributes& attributes) {
  const double alpha = attributes.get_float("alpha");
  switch (kind) {
    case OpKind::kAbs:
      return {absolute};
    case OpKind::kCeil:
      return {ceiling};
    case OpKind::kClip:
      return {clip, attributes.get_float("min", -kInfinity),
              attributes.get_float("max", kInfinity)};
    case OpKind::kElu:
      return {elu, alpha};
    case OpKind::kErf:
      return {error_function};
    case OpKind::kExp:
      return {exponential};
    case OpKind::kFloor:
      return {floored};
    case OpKind::kGelu:
      return {attributes.get_string("approximate") == "tanh" ? gelu_tanh : gelu};
    case OpKind::kHardSigmoid:
      return {hard_sigmoid, alpha, attributes.get_float("beta")};
    case OpKind::kHardSwish:
      return {hard_swish};
    case OpKind::kLeakyRelu:
      return {leaky_relu, alpha};
    case OpKind::kLog:
      return {logarithm};
    case OpKind::kNeg:
      return {negated};
    case OpKind::kReciprocal:
      return {reciprocal};
    case OpKind::kRelu:
      return {relu};
    case OpKind::kRound:
      return {rounded};
    case OpKind::kSigmoid:
      return {sigmoid};
    case OpKind::kSilu:
      return {silu};
    case OpKind::kSoftplus:
      return {softplus};
    case OpKind::kSqrt:
      return {square_root};
    case OpKind::kTanh:
      return {hyperbolic_tangent};
    case OpKind::kAcos:
      return {arc_cosine};
    case OpKind::kAcosh:
      return {area_cosine};
    case OpKind::kAsin:
      return {arc_sine};
    case OpKind::kAsinh:
      return {area_sine};
    case OpKind::kAtan:
      return {arc_tangent};
    case OpKind::kAtanh:
      return {area_tangent};
    case OpKind::kCos:
      return {cosine};
    case OpKind::kCosh:
      return {hyperbolic_cosine};
    case OpKind::kSin:
      return {sine};
    case OpKind::kSinh:
      return {hyperbolic_sine};
    case OpKind::kTan:
      return {tangent};
    case OpKind::kMish:
      return {mish};
    case OpKind::kSign:
      return {sign};
    default:
      return {identity};
  }
}

RealFunction activation_function(const Attributes& attributes) {
  struct Row {
    std::string_view name;
    double (*function)(double, double, double);
  };
  constexpr std::array<Row, 11> kRows = {{{"Relu", relu},
                                          {"Clip", clip},
                                          {"Sigmoid", sigmoid},
                                          {"Tanh", hyperbolic_tangent},
                                          {"Silu", silu},
                                          {"Gelu", gelu},
                                          {"GeluTanh", gelu_tanh},
                                          {"HardSwish", hard_swish},
                                          {"HardSigmoid", hard_sigmoid},
                                          {"LeakyRelu", leaky_relu},
                                          {"Elu", elu}}};
  const std::string name = attributes.get_string("activation");
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    return {row.function, attributes.get_float("activation_alpha"),
            attributes.get_float("activation_beta")};
  }
  return {identity};
}

}  // namespace modeld::reference
