// Functions of one real number, shared by the unary ops and by activations.
#pragma once

#include <cmath>
#include <string_view>

#include "runtime/program/op.h"

namespace modeld::reference {

// f(x) with the parameters an op or activation gives it.
struct RealFunction {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0;
  double beta = 0;

  double operator()(double x) const { return function(x, alpha, beta); }
};

// Of a unary op on floats (every kind from Abs to Tanh but Not).
RealFunction unary_function(OpKind kind, const Attributes& attributes);

// Of the `activation` attribute; the identity if it is absent.
RealFunction activation_function(const Attributes& attributes);

// ONNX Max and Min: a NaN on either side wins.
inline double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}
inline double smaller(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}

}  // namespace modeld::reference
