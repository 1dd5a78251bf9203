// Subnormal numbers inside sums of products.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace modeld::cpu {

// While alive, this thread's float32 arithmetic takes and gives zero instead of subnormal numbers
// (on x86-64; elsewhere nothing changes). Trained weights of dead channels are subnormal, and an
// instruction that meets one costs a hundred others: a network of ours ran 20 times as long. Used
// around convolutions and matrix products only, where it changes a result by less than
// 1.2e-38 times the number of terms; element-wise loops keep IEEE semantics.
class FlushSubnormals {
 public:
#ifdef __x86_64__
  FlushSubnormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | kFlushToZero | kInputsAreZero);
  }
  ~FlushSubnormals() {
    _mm_setcsr(before_);
  }
#else
  FlushSubnormals() {}
  ~FlushSubnormals() {}
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

#ifdef __x86_64__
 private:
  static constexpr unsigned kFlushToZero = 0x8000;    // MXCSR bit 15
  static constexpr unsigned kInputsAreZero = 0x0040;  // MXCSR bit 6
  unsigned before_;
#endif
};

}  // namespace modeld::cpu
