// Loops compiled for several instruction sets and picked by the processor at run time.
#pragma once

#include <cstdint>
#include <utility>

// On everything a vectorised loop calls: code that is not inlined keeps the baseline's
// instructions. Function attributes, and not one translation unit per instruction set, because
// the linker may pick any copy of an inline function and would hand AVX-512 to old processors.
#define MODELD_ALWAYS_INLINE __attribute__((always_inline))

#if defined(__x86_64__) && !defined(MODELD_NO_SIMD)
#define MODELD_CPU_X86 1
#endif

namespace modeld::cpu {

enum class Isa : uint8_t { kBaseline, kAvx2, kAvx512 };

// The best of this processor; asked once.
inline Isa detect_isa() {
#ifdef MODELD_CPU_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kBaseline;
}

inline Isa isa() {
  static const Isa found = detect_isa();
  return found;
}

#ifdef MODELD_CPU_X86
// clang vectorises to 256 bits by itself; g++ has to be told to use the full width.
#if defined(__clang__)
#define MODELD_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#else
#define MODELD_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,prefer-vector-width=512")))
#endif
#define MODELD_TARGET_AVX2 __attribute__((target("avx2,fma")))

template <typename Loop>
MODELD_TARGET_AVX512 void run_avx512(const Loop& loop) {
  loop();
}
template <typename Loop>
MODELD_TARGET_AVX2 void run_avx2(const Loop& loop) {
  loop();
}
#endif

// Runs `loop`, whose call operator is MODELD_ALWAYS_INLINE, compiled for isa(). No contraction
// takes place, so the instruction set does not change a result.
template <typename Loop>
void vectorised(const Loop& loop) {
#ifdef MODELD_CPU_X86
  switch (isa()) {
    case Isa::kAvx512:
      return run_avx512(loop);
    case Isa::kAvx2:
      return run_avx2(loop);
    case Isa::kBaseline:
      break;
  }
#endif
  loop();
}

}  // namespace modeld::cpu
