#include "runtime/cpu/integer_product.h"

#include "runtime/cpu/simd.h"

namespace modeld::cpu {
namespace {

template <typename T>
void centre_as(const std::byte* from, int32_t zero, int16_t* to, int64_t count) {
  const T* source = reinterpret_cast<const T*>(from);
  const auto origin = static_cast<int16_t>(zero);
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<int16_t>(static_cast<int16_t>(source[i]) - origin);
    }
  });
}

// Unsigned, because a sum beyond int32 wraps.
MODELD_ALWAYS_INLINE inline uint32_t product_of(int16_t a, int16_t b) {
  return static_cast<uint32_t>(static_cast<int32_t>(a) * static_cast<int32_t>(b));
}

// Four results at once read the left row once.
MODELD_ALWAYS_INLINE inline void four(const int16_t* a, const int16_t* b, int64_t inner,
                                      int32_t* sums) {
  uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  const int16_t* b1 = b + inner;
  const int16_t* b2 = b1 + inner;
  const int16_t* b3 = b2 + inner;
  for (int64_t i = 0; i < inner; ++i) {
    s0 += product_of(a[i], b[i]);
    s1 += product_of(a[i], b1[i]);
    s2 += product_of(a[i], b2[i]);
    s3 += product_of(a[i], b3[i]);
  }
  sums[0] = static_cast<int32_t>(s0);
  sums[1] = static_cast<int32_t>(s1);
  sums[2] = static_cast<int32_t>(s2);
  sums[3] = static_cast<int32_t>(s3);
}

}  // namespace

void centre(DType dtype, const std::byte* from, int32_t zero, int16_t* to, int64_t count) {
  dtype == DType::kInt8 ? centre_as<int8_t>(from, zero, to, count)
                        : centre_as<uint8_t>(from, zero, to, count);
}

void integer_products(const int16_t* a, const int16_t* b, int64_t inner, int64_t columns,
                      int32_t* sums) {
  vectorised([&]() MODELD_ALWAYS_INLINE {
    int64_t column = 0;
    for (; column + 4 <= columns; column += 4) four(a, b + column * inner, inner, sums + column);
    for (; column < columns; ++column) {
      uint32_t sum = 0;
      for (int64_t i = 0; i < inner; ++i) sum += product_of(a[i], b[column * inner + i]);
      sums[column] = static_cast<int32_t>(sum);
    }
  });
}

}  // namespace modeld::cpu
