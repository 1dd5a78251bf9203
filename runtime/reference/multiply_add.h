// The inner loop of convolutions and matrix products.
#pragma once

#include <cstdint>

namespace modeld::reference {

// Rows of results computed together: each input element is loaded once for all of them.
constexpr int64_t kBlock = 4;

// sums[j][i] += factors[j] * x[i * stride] for the first `rows` (at most kBlock) rows j. Each
// element sees its additions in the order of the calls, whatever the block.
template <typename Wide>
void multiply_add(int64_t rows, const Wide* factors, const Wide* x, int64_t stride,
                  Wide* const* sums, int64_t count) {
  if (rows == kBlock && stride == 1) {
    Wide* __restrict a = sums[0];
    Wide* __restrict b = sums[1];
    Wide* __restrict c = sums[2];
    Wide* __restrict d = sums[3];
    const Wide* __restrict from = x;
    const Wide fa = factors[0];
    const Wide fb = factors[1];
    const Wide fc = factors[2];
    const Wide fd = factors[3];
    for (int64_t i = 0; i < count; ++i) {
      const Wide value = from[i];
      a[i] += fa * value;
      b[i] += fb * value;
      c[i] += fc * value;
      d[i] += fd * value;
    }
    return;
  }
  for (int64_t j = 0; j < rows; ++j) {
    Wide* __restrict sum = sums[j];
    const Wide factor = factors[j];
    if (stride == 1) {
      for (int64_t i = 0; i < count; ++i) sum[i] += factor * x[i];
    } else {
      for (int64_t i = 0; i < count; ++i) sum[i] += factor * x[i * stride];
    }
  }
}

}  // namespace modeld::reference
