#include "daemon/driving/path_fit.h"

#include <cmath>

namespace modeld::driving {
namespace {

// coefficients = solver * values: the pseudo-inverse of the Vandermonde matrix of the time grid.
using Solver = std::array<std::array<double, kIdxCount>, kPathCoefficients>;

// Through an orthonormal basis (Gram-Schmidt, twice for accuracy): V = Q R, solver = R^-1 Q^T.
Solver make_solver() {
  std::array<std::array<double, kIdxCount>, kPathCoefficients> q{};
  std::array<std::array<double, kPathCoefficients>, kPathCoefficients> r{};
  for (size_t k = 0; k < kPathCoefficients; ++k) {
    for (size_t i = 0; i < kIdxCount; ++i) q[k][i] = std::pow(kTIdxs[i], static_cast<double>(k));
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < k; ++j) {
        double dot = 0.0;
        for (size_t i = 0; i < kIdxCount; ++i) dot += q[j][i] * q[k][i];
        r[j][k] += dot;
        for (size_t i = 0; i < kIdxCount; ++i) q[k][i] -= dot * q[j][i];
      }
    }
    double square = 0.0;
    for (const double value : q[k]) square += value * value;
    r[k][k] = std::sqrt(square);
    for (double& value : q[k]) value /= r[k][k];
  }
  Solver solver{};
  for (size_t k = kPathCoefficients; k-- > 0;) {
    for (size_t i = 0; i < kIdxCount; ++i) {
      double rest = q[k][i];
      for (size_t j = k + 1; j < kPathCoefficients; ++j) rest -= r[k][j] * solver[j][i];
      solver[k][i] = rest / r[k][k];
    }
  }
  return solver;
}

}  // namespace

std::array<double, kPathCoefficients> fit_path(const ModelOutputs& outputs, size_t column) {
  static const Solver solver = make_solver();
  std::array<double, kPathCoefficients> coefficients{};
  for (size_t k = 0; k < kPathCoefficients; ++k) {
    for (size_t i = 0; i < kIdxCount; ++i) {
      const auto value = static_cast<double>(outputs.plan_at(i, kPlanPosition + column));
      coefficients[k] += solver[k][i] * value;
    }
  }
  return coefficients;
}

}  // namespace modeld::driving
