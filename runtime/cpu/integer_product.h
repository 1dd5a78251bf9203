// Sums of products of small integers, exact in int32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/program/dtype.h"

namespace modeld::cpu {

// An i8 or u8 row minus its zero point, which fits int16.
void centre(DType dtype, const std::byte* from, int32_t zero, int16_t* to, int64_t count);

// sums[j] = sum of a[i] * b[j * inner + i]; wraps modulo 2^32.
void integer_products(const int16_t* a, const int16_t* b, int64_t inner, int64_t columns,
                      int32_t* sums);

}  // namespace modeld::cpu
