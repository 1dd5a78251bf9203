// Gemm, MatMul and MatMulInteger as one stack of matrix products on views.
#pragma once

#include <optional>

#include "runtime/opencl/lowering.h"

namespace modeld::opencl {

// out[..][m][n] = act(alpha * sum over k of a[..][m][k] * b[..][k][n] + beta * bias + residual)
// All views have the same rank; a, b, bias and residual are broadcast to the stack.
struct ProductViews {
  View a;    // [.., M, K]
  View b;    // [.., K, N]
  View out;  // [.., M, N]
  std::optional<View> bias;
  std::optional<View> residual;
  // MatMulInteger: of the shapes of a and b.
  std::optional<View> a_zero;
  std::optional<View> b_zero;
  double alpha = 1;
  double beta = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t columns = 1;
};

// Defines the op's output, plain.
ProductViews product_views(Lowering& lowering);

}  // namespace modeld::opencl
