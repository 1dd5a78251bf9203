#include "runtime/opencl/prelude.h"

namespace modeld::opencl {
namespace {

// Storage conversions. NaN becomes 0 and the rest saturates, as OPS.md says of Cast; a bfloat16 is
// the upper half of a float, rounded to even.
constexpr const char* kStorage = R"CL(
ushort m_to_bf16(float x) {
  uint bits = as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (ushort)((bits >> 16) | 0x40u);
  return (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
float m_round_bf16(float x) { return as_float((uint)m_to_bf16(x) << 16); }
float m_round_half(float x) {
  ushort bits;
  vstore_half_rte(x, 0, (half*)&bits);
  return vload_half(0, (const half*)&bits);
}
/* vload_half16 of PoCL 3.1 reads with aligned instructions, though a half's alignment must do. */
#define M_HALVES(N) \
  float##N m_load_half##N(__global const half* p) { \
    const ushort##N bits = vload##N(0, (__global const ushort*)p); \
    return vload_half##N(0, (const half*)&bits); \
  } \
  void m_store_half##N(float##N x, __global half* p) { \
    ushort##N bits; \
    vstore_half##N##_rte(x, 0, (half*)&bits); \
    vstore##N(bits, 0, (__global ushort*)p); \
  }
M_HALVES(2) M_HALVES(4) M_HALVES(8) M_HALVES(16)
#define M_SATURATE(T) \
  T __attribute__((overloadable)) m_sat_##T(float x) { return isnan(x) ? (T)0 : convert_##T##_sat(x); }
M_SATURATE(char) M_SATURATE(uchar) M_SATURATE(short) M_SATURATE(ushort)
M_SATURATE(int) M_SATURATE(uint) M_SATURATE(long) M_SATURATE(ulong)
)CL";

constexpr const char* kDoubleStorage = R"CL(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define M_SATURATE_D(T) \
  T __attribute__((overloadable)) m_sat_##T(double x) { return isnan(x) ? (T)0 : convert_##T##_sat(x); }
M_SATURATE_D(char) M_SATURATE_D(uchar) M_SATURATE_D(short) M_SATURATE_D(ushort)
M_SATURATE_D(int) M_SATURATE_D(uint) M_SATURATE_D(long) M_SATURATE_D(ulong)
)CL";

// Integer arithmetic that OPS.md defines where C does not. flags[1] counts divisions by zero.
constexpr const char* kIntegers = R"CL(
#define M_COUNT(flag) atomic_inc(&flags[flag])
long m_div_long(long a, long b, __global uint* flags) {
  if (b == 0) { M_COUNT(1); return 0; }
  return b == -1 ? (long)(0ul - (ulong)a) : a / b;
}
ulong m_div_ulong(ulong a, ulong b, __global uint* flags) {
  if (b == 0) { M_COUNT(1); return 0; }
  return a / b;
}
long m_mod_long(long a, long b, int floored, __global uint* flags) {
  if (b == 0) { M_COUNT(1); return 0; }
  if (b == -1) return 0;
  const long rest = a % b;
  return floored && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
ulong m_mod_ulong(ulong a, ulong b, int floored, __global uint* flags) {
  if (b == 0) { M_COUNT(1); return 0; }
  return a % b;
}
ulong m_power(ulong base, ulong rest) {
  ulong result = 1;
  for (; rest != 0; rest >>= 1) {
    if (rest & 1) result *= base;
    base *= base;
  }
  return result;
}
ulong __attribute__((overloadable)) m_isqrt(ulong x) {
  /* sqrt of an integer, truncated: bit by bit */
  ulong root = 0;
  for (ulong bit = 1ul << 31; bit != 0; bit >>= 1) {
    const ulong next = root | bit;
    if (next * next <= x) root = next;
  }
  return root;
}
long __attribute__((overloadable)) m_isqrt(long x) { return x < 0 ? 0 : (long)m_isqrt((ulong)x); }
long m_pow_signed(long a, long b, int a_is_signed, __global uint* flags) {
  if (b >= 0) return (long)m_power((ulong)a, (ulong)b);
  if (a == 0) M_COUNT(1);
  if (a == 1) return 1;
  if (a_is_signed && a == -1) return (b & 1) == 0 ? 1 : a;
  return 0;
}
)CL";

// Correctly rounded division of float32 (see Division).
constexpr const char* kNativeDivision = R"CL(
float m_divide(float a, float b) { return a / b; }
)CL";
constexpr const char* kDoubleDivision = R"CL(
float m_divide(float a, float b) { return (float)((double)a / (double)b); }
)CL";
// Significands as integers of 24 bits; the quotient has 26 or 27 bits and a sticky one, rounded to
// nearest even once, also where the result is subnormal.
constexpr const char* kIntegerDivision = R"CL(
float m_divide(float a, float b) {
  const uint sign = (as_uint(a) ^ as_uint(b)) & 0x80000000u;
  const uint ua = as_uint(a) & 0x7fffffffu;
  const uint ub = as_uint(b) & 0x7fffffffu;
  if (ua > 0x7f800000u || ub > 0x7f800000u) return NAN;
  if (ua == 0x7f800000u) return ub == 0x7f800000u ? NAN : as_float(sign | 0x7f800000u);
  if (ub == 0x7f800000u) return as_float(sign);
  if (ub == 0) return ua == 0 ? NAN : as_float(sign | 0x7f800000u);
  if (ua == 0) return as_float(sign);
  int ea = (int)(ua >> 23), eb = (int)(ub >> 23);
  uint ma = ua & 0x7fffffu, mb = ub & 0x7fffffu;
  if (ea == 0) { const int s = (int)clz(ma) - 8; ma <<= s; ea = 1 - s; } else ma |= 0x800000u;
  if (eb == 0) { const int s = (int)clz(mb) - 8; mb <<= s; eb = 1 - s; } else mb |= 0x800000u;
  int e = ea - eb + 127;
  ulong n = (ulong)ma << 27;
  if (ma < mb) { n <<= 1; --e; }
  ulong q = n / mb;               /* in [2^27, 2^28) */
  if (q * mb != n) q |= 1;        /* sticky */
  int drop = 4;
  if (e <= 0) { drop += 1 - e; e = 0; }
  if (drop > 40) return as_float(sign);
  const ulong half_way = 1ul << (drop - 1);
  ulong kept = q >> drop;
  const ulong rest = q & ((1ul << drop) - 1);
  if (rest > half_way || (rest == half_way && (kept & 1))) ++kept;
  if (e == 0) return as_float(sign | (uint)kept);
  uint bits = ((uint)e << 23) + ((uint)kept - 0x800000u);
  if (bits >= 0x7f800000u || e >= 255) bits = 0x7f800000u;
  return as_float(sign | bits);
}
)CL";

}  // namespace

std::string prelude(const Traits& traits) {
  std::string text;
  if (traits.has_double) text += kDoubleStorage;
  text += kStorage;
  text += kIntegers;
  switch (traits.division) {
    case Division::kNative:
      return text + kNativeDivision;
    case Division::kDouble:
      return text + kDoubleDivision;
    default:
      return text + kIntegerDivision;
  }
}

}  // namespace modeld::opencl
