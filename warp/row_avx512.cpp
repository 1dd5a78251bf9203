#include "warp/row_kernels.h"

#if MODELD_WARP_X86

// g++ 12 takes the header's own undefined pass-through operands for uninitialised variables.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace modeld::warp_detail {
namespace {

constexpr uint32_t kLanes = 16;

// (a x + row) + c, each operation rounded on its own.
__attribute__((target("avx512f"))) inline __m512 affine(float a, __m512 x, float row, float c) {
  const __m512 product = _mm512_mul_ps(_mm512_set1_ps(a), x);
  return _mm512_add_ps(_mm512_add_ps(product, _mm512_set1_ps(row)), _mm512_set1_ps(c));
}

__attribute__((target("avx512f"))) inline __m512 divide_and_round(__m512 a, __m512 w) {
  return _mm512_roundscale_ps(_mm512_div_ps(a, w), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// max(NaN, 0) is 0 in this operand order, so every lane ends inside the plane.
__attribute__((target("avx512f"))) inline __m512i clamp_to_int(__m512 value, __m512 most) {
  return _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(value, _mm512_setzero_ps()), most));
}

__attribute__((target("avx512f"))) inline uint32_t inside(__m512 value, __m512 most) {
  const __mmask16 low = _mm512_cmp_ps_mask(value, _mm512_setzero_ps(), _CMP_GE_OQ);
  return _mm512_mask_cmp_ps_mask(low, value, most, _CMP_LE_OQ);
}

struct Samples {
  __m128i first;
  __m128i second;  // the byte after each
};

// A gather reads four bytes. Near the plane's end it would read past it, so it starts earlier there
// and the wanted bytes are shifted down.
__attribute__((target("avx512f"))) inline Samples gather(const SourcePlane& plane,
                                                         __m512i offsets) {
  const __m512i last = _mm512_set1_epi32(static_cast<int32_t>(plane.bytes) - 4);
  const __m512i start = _mm512_min_epi32(offsets, last);
  const __m512i words = _mm512_i32gather_epi32(start, plane.pixels, 1);
  const __m512i skipped_bits = _mm512_slli_epi32(_mm512_sub_epi32(offsets, start), 3);
  const __m512i wanted = _mm512_srlv_epi32(words, skipped_bits);
  return {_mm512_cvtepi32_epi8(wanted), _mm512_cvtepi32_epi8(_mm512_srli_epi32(wanted, 8))};
}

// The rare lanes first, then as many bytes as the row still has.
void store(__m128i samples, const SourcePlane& plane, uint32_t nan, uint32_t outside,
           uint32_t lanes, uint8_t* out) {
  alignas(16) uint8_t bytes[kLanes];
  _mm_store_si128(reinterpret_cast<__m128i*>(bytes), samples);
  if ((nan | outside) != 0) {
    for (uint32_t i = 0; i < kLanes; ++i) {
      if ((outside >> i & 1u) != 0) bytes[i] = plane.fill_value;
      if ((nan >> i & 1u) != 0) bytes[i] = 0;
    }
  }
  std::memcpy(out, bytes, lanes);
}

}  // namespace

__attribute__((target("avx512f"))) void sample_row_avx512(const SourcePlane& plane,
                                                          const RowJob& job) {
  const auto& m = job.m;
  const float x_of_y = m[1] * job.y;
  const float y_of_y = m[4] * job.y;
  const float w_of_y = m[7] * job.y;
  const __m512 max_x = _mm512_set1_ps(plane.max_x);
  const __m512 max_y = _mm512_set1_ps(plane.max_y);
  const __m512i pitch = _mm512_set1_epi32(static_cast<int32_t>(plane.pitch));
  const __m512i step = _mm512_set1_epi32(static_cast<int32_t>(plane.pixel_step));
  const __m512 advance = _mm512_set1_ps(job.x_step * kLanes);
  const __m512 lane = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512 x =
      _mm512_add_ps(_mm512_set1_ps(job.x_first), _mm512_mul_ps(lane, _mm512_set1_ps(job.x_step)));
  for (uint32_t i = 0; i < job.count; i += kLanes, x = _mm512_add_ps(x, advance)) {
    const __m512 w = affine(m[6], x, w_of_y, m[8]);
    const __m512 source_x = divide_and_round(affine(m[0], x, x_of_y, m[2]), w);
    const __m512 source_y = divide_and_round(affine(m[3], x, y_of_y, m[5]), w);
    const __m512i row = _mm512_mullo_epi32(clamp_to_int(source_y, max_y), pitch);
    const __m512i column = _mm512_mullo_epi32(clamp_to_int(source_x, max_x), step);
    const Samples samples = gather(plane, _mm512_add_epi32(row, column));
    const uint32_t nan = _mm512_cmp_ps_mask(source_x, source_y, _CMP_UNORD_Q);
    const uint32_t within = inside(source_x, max_x) & inside(source_y, max_y);
    const uint32_t outside = plane.fill ? ~within & 0xffffu : 0u;
    const uint32_t lanes = std::min(kLanes, job.count - i);
    store(samples.first, plane, nan, outside, lanes, job.first + i);
    if (job.second != nullptr) {
      store(samples.second, plane, nan, outside, lanes, job.second + i);
    }
  }
}

}  // namespace modeld::warp_detail
#pragma GCC diagnostic pop

#endif  // MODELD_WARP_X86
