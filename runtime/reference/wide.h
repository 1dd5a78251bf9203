// Elements of any type as numbers wide enough to compute with, a row at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/program/dtype.h"

namespace modeld::reference {

// What arithmetic on a type is done in: double for floats; 64-bit integers, modulo 2^64, for the
// rest (bool counts as unsigned).
enum class Domain : uint8_t { kReal, kSigned, kUnsigned };
Domain domain_of(DType type);

// Rows are handled in pieces of this many elements, on the stack.
constexpr size_t kChunk = 512;

// Converts `count` elements. To double from any type; to int64_t and uint64_t from integers and
// bool only (bool reads as 0 or 1 whatever the byte).
void load(DType type, const std::byte* from, double* to, size_t count);
void load(DType type, const std::byte* from, int64_t* to, size_t count);
void load(DType type, const std::byte* from, uint64_t* to, size_t count);

// The way back, to any type. Floats round to nearest even, once; double to integer truncates and
// saturates (NaN gives 0); integer to integer wraps; bool is "not equal to 0".
void store(DType type, const double* from, std::byte* to, size_t count);
void store(DType type, const int64_t* from, std::byte* to, size_t count);
void store(DType type, const uint64_t* from, std::byte* to, size_t count);

// Rounds a double to half or bfloat precision directly: by way of float it would round twice.
uint16_t double_to_half(double value);
uint16_t double_to_bfloat(double value);

}  // namespace modeld::reference
