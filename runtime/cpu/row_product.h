// A few rows times a constant matrix: memory-bound, so the matrix is read once, in order, by
// vector code that keeps its sums in registers.
#pragma once

#include <cstdint>

#include "runtime/base/aligned_bytes.h"

namespace modeld::cpu {

constexpr int64_t kRowProductColumns = 64;  // per block: four vectors of AVX-512
constexpr int64_t kRowProductRows = 4;      // most rows at once

// b (inner x columns, element (k, n) at k * k_stride + n * n_stride) as blocks of
// kRowProductColumns columns, each inner x kRowProductColumns, the last padded with zeros.
AlignedBytes pack_columns(const float* b, int64_t inner, int64_t columns, int64_t k_stride,
                          int64_t n_stride);

struct RowProduct {
  int64_t rows = 1;  // at most kRowProductRows
  int64_t inner = 0;
  int64_t columns = 0;
  const float* a = nullptr;         // rows x inner, dense
  const float* packed = nullptr;    // pack_columns()
  const float* bias = nullptr;      // columns, or null
  const float* residual = nullptr;  // rows x columns, or null
  float* out = nullptr;             // rows x columns
};

// Column blocks [first, last) of the product.
void row_product(const RowProduct& product, int64_t first, int64_t last);

}  // namespace modeld::cpu
