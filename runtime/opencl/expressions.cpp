#include "runtime/opencl/expressions.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>

namespace modeld::opencl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A real function under its name in programs, on `x` with constants alpha and beta. T is the type,
// @half@ and so on are constants of it.
std::string real_function(std::string_view name, const std::string& x, double alpha, double beta,
                          Compute compute, uint32_t width) {
  const std::string type = type_name(compute, width);
  const auto number = [&](double value) {
    return "((" + type + ")" + literal(value, compute) + ")";
  };
  const auto text = [&](std::string_view form) {
    return fill(form, {{"x", x},
                       {"a", number(alpha)},
                       {"b", number(beta)},
                       {"0", number(0)},
                       {"1", number(1)},
                       {"half", number(0.5)},
                       {"sixth", number(1.0 / 6)},
                       {"root_half", number(1 / std::numbers::sqrt2)},
                       {"gelu_root", number(std::sqrt(2 / std::numbers::pi))},
                       {"gelu_cube", number(0.044715)}});
  };
  if (name == "Relu") return text("(@x@ < @0@ ? @0@ : @x@)");
  // A NaN stays: both comparisons are false. The upper bound wins where the two cross.
  if (name == "Clip") {
    std::string inner = x;
    if (alpha != -kInfinity) inner = text("(@x@ < @a@ ? @a@ : @x@)");
    if (beta == kInfinity) return inner;
    return fill("(@i@ > @b@ ? @b@ : @i@)", {{"i", inner}, {"b", number(beta)}});
  }
  if (name == "Sigmoid") return text("(@1@ / (@1@ + exp(-@x@)))");
  if (name == "Silu") return text("(@x@ * (@1@ / (@1@ + exp(-@x@))))");
  if (name == "Tanh") return text("tanh(@x@)");
  if (name == "Gelu") return text("(@half@ * @x@ * (@1@ + erf(@x@ * @root_half@)))");
  if (name == "GeluTanh") {
    return text(
        "(@half@ * @x@ * (@1@ + tanh(@gelu_root@ * (@x@ + @gelu_cube@ * @x@ * @x@ * @x@))))");
  }
  if (name == "HardSigmoid") {
    return fill("(@v@ < @0@ ? @0@ : (@v@ > @1@ ? @1@ : @v@))",
                {{"v", text("(@a@ * @x@ + @b@)")}, {"0", number(0)}, {"1", number(1)}});
  }
  if (name == "HardSwish") {
    return fill(
        "(@x@ * (@v@ < @0@ ? @0@ : (@v@ > @1@ ? @1@ : @v@)))",
        {{"x", x}, {"v", text("(@x@ * @sixth@ + @half@)")}, {"0", number(0)}, {"1", number(1)}});
  }
  if (name == "LeakyRelu") return text("(@x@ < @0@ ? @a@ * @x@ : @x@)");
  if (name == "Elu") return text("(@x@ < @0@ ? @a@ * expm1(@x@) : @x@)");
  if (name == "Softplus") {
    // log(1 + exp(x)) without overflow.
    return text("((@x@ < @0@ ? @0@ : @x@) + log1p(exp(-fabs(@x@))))");
  }
  constexpr std::array<std::pair<std::string_view, const char*>, 11> kBuiltins = {
      {{"Acos", "acos(@x@)"},
       {"Acosh", "acosh(@x@)"},
       {"Asin", "asin(@x@)"},
       {"Asinh", "asinh(@x@)"},
       {"Atan", "atan(@x@)"},
       {"Atanh", "atanh(@x@)"},
       {"Cos", "cos(@x@)"},
       {"Cosh", "cosh(@x@)"},
       {"Sin", "sin(@x@)"},
       {"Sinh", "sinh(@x@)"},
       {"Tan", "tan(@x@)"}}};
  for (const auto& [builtin, code] : kBuiltins) {
    if (name == builtin) return text(code);
  }
  if (name == "Mish") {
    return text("(@x@ * tanh((@x@ < @0@ ? @0@ : @x@) + log1p(exp(-fabs(@x@)))))");
  }
  // NaN stays.
  if (name == "Sign") return text("(@x@ != @x@ ? @x@ : sign(@x@))");
  if (name == "Abs") return text("fabs(@x@)");
  if (name == "Ceil") return text("ceil(@x@)");
  if (name == "Floor") return text("floor(@x@)");
  if (name == "Erf") return text("erf(@x@)");
  if (name == "Exp") return text("exp(@x@)");
  if (name == "Log") return text("log(@x@)");
  if (name == "Neg") return text("(-@x@)");
  if (name == "Reciprocal") return text("(@1@ / @x@)");
  if (name == "Round") return text("rint(@x@)");
  if (name == "Sqrt") return text("sqrt(@x@)");
  return x;
}

std::string integer_function(OpKind kind, const Attributes& attributes, const std::string& x,
                             Compute compute, DType dtype) {
  const bool is_signed = compute == Compute::kSigned;
  const std::string type = type_name(compute);
  switch (kind) {
    case OpKind::kNot:
      return "(" + type + ")(" + x + " == 0)";
    case OpKind::kNeg:
      return "(" + type + ")(0ul - (ulong)" + x + ")";
    case OpKind::kAbs:
      return is_signed ? "(" + x + " < 0 ? (long)(0ul - (ulong)" + x + ") : " + x + ")" : x;
    case OpKind::kRelu:
      return is_signed ? "max(" + x + ", 0L)" : x;
    case OpKind::kSign:
      return is_signed ? "clamp(" + x + ", -1L, 1L)" : "min(" + x + ", 1ul)";
    case OpKind::kClip: {
      // A fraction bounds integers by the next one inside; bounds saturate into the type.
      const auto bound = [&](double value) {
        return "(" + type + ")m_sat_" + storage_name(dtype) + "(" +
               literal(value, Compute::kFloat) + ")";
      };
      return "min(max(" + x + ", " + bound(std::ceil(attributes.get_float("min", -kInfinity))) +
             "), " + bound(std::floor(attributes.get_float("max", kInfinity))) + ")";
    }
    default:
      return x;
  }
}

}  // namespace

std::string unary_expression(OpKind kind, const Attributes& attributes, const std::string& x,
                             Compute compute, uint32_t width, DType dtype) {
  if (!is_real(compute)) return integer_function(kind, attributes, x, compute, dtype);
  if (kind == OpKind::kClip) {
    return real_function("Clip", x, attributes.get_float("min", -kInfinity),
                         attributes.get_float("max", kInfinity), compute, width);
  }
  std::string_view name = to_string(kind);
  if (kind == OpKind::kGelu && attributes.get_string("approximate") == "tanh") name = "GeluTanh";
  return real_function(name, x, attributes.get_float("alpha"), attributes.get_float("beta"),
                       compute, width);
}

std::string activation_expression(const Attributes& attributes, const std::string& x,
                                  Compute compute, uint32_t width) {
  return real_function(attributes.get_string("activation"), x,
                       attributes.get_float("activation_alpha"),
                       attributes.get_float("activation_beta"), compute, width);
}

std::string binary_expression(OpKind kind, const Attributes& attributes, const std::string& a,
                              Compute a_compute, const std::string& b, Compute b_compute,
                              const std::string& flags) {
  const bool real = is_real(a_compute);
  const std::string type = type_name(a_compute);
  const auto infix = [&](const char* sign) { return "(" + a + " " + sign + " " + b + ")"; };
  const auto compare = [&](const char* sign) { return "(ulong)" + infix(sign); };
  // Sums wrap: in unsigned arithmetic.
  const auto wrapping = [&](const char* sign) {
    return real ? infix(sign) : "(" + type + ")((ulong)" + a + " " + sign + " (ulong)" + b + ")";
  };
  switch (kind) {
    case OpKind::kAdd:
      return wrapping("+");
    case OpKind::kSub:
      return wrapping("-");
    case OpKind::kMul:
      return wrapping("*");
    case OpKind::kAnd:
      return infix("&");
    case OpKind::kOr:
      return infix("|");
    case OpKind::kEqual:
      return compare("==");
    case OpKind::kGreater:
      return compare(">");
    case OpKind::kGreaterOrEqual:
      return compare(">=");
    case OpKind::kLess:
      return compare("<");
    case OpKind::kLessOrEqual:
      return compare("<=");
    case OpKind::kMax:
      // A NaN on either side wins.
      return real ? "(((" + a + " != " + a + ") | (" + a + " > " + b + ")) ? " + a + " : " + b + ")"
                  : "max(" + a + ", " + b + ")";
    case OpKind::kMin:
      return real ? "(((" + a + " != " + a + ") | (" + a + " < " + b + ")) ? " + a + " : " + b + ")"
                  : "min(" + a + ", " + b + ")";
    case OpKind::kPRelu:
      return "(" + a + " < (" + type + ")0 ? " + wrapping("*") + " : " + a + ")";
    case OpKind::kDiv:
      return real ? infix("/") : "m_div_" + type + "(" + a + ", " + b + ", " + flags + ")";
    case OpKind::kMod: {
      if (real) return "fmod(" + a + ", " + b + ")";
      const std::string floored = attributes.get_int("fmod") == 0 ? "1" : "0";
      return "m_mod_" + type + "(" + a + ", " + b + ", " + floored + ", " + flags + ")";
    }
    default:
      break;
  }
  // Pow: the exponent has a type of its own.
  if (real) {
    return "pow(" + a + ", " + (a_compute == b_compute ? b : "(" + type + ")" + b) + ")";
  }
  if (is_real(b_compute)) {
    // Only where the device has double would this be exact; single precision serves elsewhere.
    return "pow((" + type_name(b_compute) + ")" + a + ", " + b + ")";
  }
  if (b_compute == Compute::kUnsigned) {
    return "(" + type + ")m_power((ulong)" + a + ", " + b + ")";
  }
  return "(" + type + ")m_pow_signed((long)" + a + ", " + b + ", " +
         (a_compute == Compute::kSigned ? "1" : "0") + ", " + flags + ")";
}

bool needs_flags(OpKind kind, DType a) {
  if (is_float(a)) return false;
  return kind == OpKind::kDiv || kind == OpKind::kMod || kind == OpKind::kPow;
}

bool is_comparison(OpKind kind) {
  switch (kind) {
    case OpKind::kEqual:
    case OpKind::kGreater:
    case OpKind::kGreaterOrEqual:
    case OpKind::kLess:
    case OpKind::kLessOrEqual:
      return true;
    default:
      return false;
  }
}

bool is_unary(OpKind kind) {
  return kind >= OpKind::kAbs && kind <= OpKind::kTanh;
}

bool is_binary(OpKind kind) {
  return kind >= OpKind::kAdd && kind <= OpKind::kSub;
}

bool has_vector_form(OpKind kind) {
  if (kind == OpKind::kCast) return true;
  if (is_unary(kind)) return kind != OpKind::kNot;
  return is_binary(kind) && !is_comparison(kind) && kind != OpKind::kAnd && kind != OpKind::kOr;
}

}  // namespace modeld::opencl
