#include "warp/row_kernels.h"

#if MODELD_WARP_X86

#include <immintrin.h>

#include <algorithm>

namespace modeld::warp_detail {
namespace {

constexpr uint32_t kLanes = 8;

// (a x + row) + c, each operation rounded on its own.
__attribute__((target("avx2"))) inline __m256 affine(float a, __m256 x, float row, float c) {
  const __m256 product = _mm256_mul_ps(_mm256_set1_ps(a), x);
  return _mm256_add_ps(_mm256_add_ps(product, _mm256_set1_ps(row)), _mm256_set1_ps(c));
}

__attribute__((target("avx2"))) inline __m256 divide_and_round(__m256 a, __m256 w) {
  return _mm256_round_ps(_mm256_div_ps(a, w), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// max(NaN, 0) is 0 in this operand order, so every lane ends inside the plane.
__attribute__((target("avx2"))) inline __m256i clamp_to_int(__m256 value, __m256 most) {
  return _mm256_cvttps_epi32(_mm256_min_ps(_mm256_max_ps(value, _mm256_setzero_ps()), most));
}

__attribute__((target("avx2"))) inline __m256 inside(__m256 value, __m256 most) {
  return _mm256_and_ps(_mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_GE_OQ),
                       _mm256_cmp_ps(value, most, _CMP_LE_OQ));
}

// The bytes of `lanes` samples at byte `offsets`. Bit i of `nan` / `outside` speaks for lane i.
void store_lanes(const SourcePlane& plane, const int32_t* offsets, uint32_t nan, uint32_t outside,
                 uint32_t lanes, uint8_t* out) {
  if ((nan | outside) == 0) {
    for (uint32_t i = 0; i < lanes; ++i) out[i] = plane.pixels[offsets[i]];
    return;
  }
  for (uint32_t i = 0; i < lanes; ++i) {
    const uint8_t sample = (outside >> i & 1u) != 0 ? plane.fill_value : plane.pixels[offsets[i]];
    out[i] = (nan >> i & 1u) != 0 ? uint8_t{0} : sample;
  }
}

}  // namespace

__attribute__((target("avx2"))) void sample_row_avx2(const SourcePlane& plane, const RowJob& job) {
  const auto& m = job.m;
  const float x_of_y = m[1] * job.y;
  const float y_of_y = m[4] * job.y;
  const float w_of_y = m[7] * job.y;
  const __m256 max_x = _mm256_set1_ps(plane.max_x);
  const __m256 max_y = _mm256_set1_ps(plane.max_y);
  const __m256i pitch = _mm256_set1_epi32(static_cast<int32_t>(plane.pitch));
  const __m256i step = _mm256_set1_epi32(static_cast<int32_t>(plane.pixel_step));
  const __m256 advance = _mm256_set1_ps(job.x_step * kLanes);
  __m256 x = _mm256_add_ps(
      _mm256_set1_ps(job.x_first),
      _mm256_mul_ps(_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_ps(job.x_step)));
  for (uint32_t i = 0; i < job.count; i += kLanes, x = _mm256_add_ps(x, advance)) {
    const __m256 w = affine(m[6], x, w_of_y, m[8]);
    const __m256 source_x = divide_and_round(affine(m[0], x, x_of_y, m[2]), w);
    const __m256 source_y = divide_and_round(affine(m[3], x, y_of_y, m[5]), w);
    alignas(32) int32_t offsets[kLanes];
    const __m256i row = _mm256_mullo_epi32(clamp_to_int(source_y, max_y), pitch);
    const __m256i column = _mm256_mullo_epi32(clamp_to_int(source_x, max_x), step);
    _mm256_store_si256(reinterpret_cast<__m256i*>(offsets), _mm256_add_epi32(row, column));
    const auto nan =
        static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(source_x, source_y, _CMP_UNORD_Q)));
    const auto within = static_cast<uint32_t>(
        _mm256_movemask_ps(_mm256_and_ps(inside(source_x, max_x), inside(source_y, max_y))));
    const uint32_t outside = plane.fill ? ~within & 0xffu : 0u;
    const uint32_t lanes = std::min(kLanes, job.count - i);
    store_lanes(plane, offsets, nan, outside, lanes, job.first + i);
    if (job.second == nullptr) continue;
    SourcePlane next = plane;
    next.pixels += 1;
    store_lanes(next, offsets, nan, outside, lanes, job.second + i);
  }
}

}  // namespace modeld::warp_detail

#endif  // MODELD_WARP_X86
