// One output row of a warp: what the scalar and SIMD versions implement. Private to the room.
#pragma once

#include <array>
#include <cstdint>

#if !defined(MODELD_NO_SIMD) && defined(__x86_64__)
#define MODELD_WARP_X86 1
#else
#define MODELD_WARP_X86 0
#endif

namespace modeld::warp_detail {

// A source plane. Samples of the plane lie `pixel_step` bytes apart (1: luma, 2: chroma pairs).
struct SourcePlane {
  const uint8_t* pixels = nullptr;
  uint32_t pitch = 0;
  uint32_t pixel_step = 1;
  float max_x = 0.0f;  // width - 1
  float max_y = 0.0f;
  bool fill = false;
  uint8_t fill_value = 0;
  uint64_t bytes = 0;  // from `pixels` to the end of the last pixel; at least 4
};

// Output pixels x = x_first, x_first + x_step, ... (`count` of them) of row `y`; all integers, so
// float holds them exactly. `second`, if not null, takes the byte after each sample (V after U).
struct RowJob {
  std::array<float, 9> m{};
  float y = 0.0f;
  float x_first = 0.0f;
  float x_step = 1.0f;
  uint32_t count = 0;
  uint8_t* first = nullptr;
  uint8_t* second = nullptr;
};

using RowKernel = void (*)(const SourcePlane& plane, const RowJob& job);

void sample_row_scalar(const SourcePlane& plane, const RowJob& job);
// WarpFilter::kBilinear; knows no fill value.
void sample_row_bilinear(const SourcePlane& plane, const RowJob& job);
#if MODELD_WARP_X86
// Need the processor feature, and `bytes` below 2^31.
void sample_row_avx2(const SourcePlane& plane, const RowJob& job);
void sample_row_avx512(const SourcePlane& plane, const RowJob& job);
#endif

}  // namespace modeld::warp_detail
