#include "runtime/cpu/row_product.h"

#include <algorithm>

#include "runtime/cpu/flush_subnormals.h"
#include "runtime/cpu/simd.h"

namespace modeld::cpu {
namespace {

template <int kRows>
MODELD_ALWAYS_INLINE inline void block(const RowProduct& p, int64_t index) {
  constexpr int64_t kWidth = kRowProductColumns;
  const float* b = p.packed + index * p.inner * kWidth;
  float sums[kRows][kWidth] = {};
  for (int64_t k = 0; k < p.inner; ++k) {
    for (int row = 0; row < kRows; ++row) {
      const float left = p.a[row * p.inner + k];
      for (int64_t n = 0; n < kWidth; ++n) sums[row][n] += left * b[k * kWidth + n];
    }
  }
  const int64_t begin = index * kWidth;
  const int64_t count = std::min(kWidth, p.columns - begin);
  for (int row = 0; row < kRows; ++row) {
    float* out = p.out + row * p.columns + begin;
    const float* residual = p.residual == nullptr ? nullptr : p.residual + (out - p.out);
    for (int64_t n = 0; n < count; ++n) {
      float value = sums[row][n];
      if (p.bias != nullptr) value += p.bias[begin + n];
      if (residual != nullptr) value += residual[n];
      out[n] = value;
    }
  }
}

template <int kRows>
void blocks(const RowProduct& product, int64_t first, int64_t last) {
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (int64_t index = first; index < last; ++index) block<kRows>(product, index);
  });
}

}  // namespace

AlignedBytes pack_columns(const float* b, int64_t inner, int64_t columns, int64_t k_stride,
                          int64_t n_stride) {
  const int64_t count = (columns + kRowProductColumns - 1) / kRowProductColumns;
  AlignedBytes packed(static_cast<size_t>(count * inner * kRowProductColumns) * sizeof(float));
  auto* to = reinterpret_cast<float*>(packed.data());
  if (to == nullptr) return packed;
  for (int64_t n = 0; n < columns; ++n) {
    float* column =
        to + n / kRowProductColumns * inner * kRowProductColumns + n % kRowProductColumns;
    for (int64_t k = 0; k < inner; ++k) {
      column[k * kRowProductColumns] = b[k * k_stride + n * n_stride];
    }
  }
  return packed;
}

void row_product(const RowProduct& product, int64_t first, int64_t last) {
  const FlushSubnormals flush;
  switch (product.rows) {
    case 1:
      return blocks<1>(product, first, last);
    case 2:
      return blocks<2>(product, first, last);
    case 3:
      return blocks<3>(product, first, last);
    default:
      return blocks<4>(product, first, last);
  }
}

}  // namespace modeld::cpu
