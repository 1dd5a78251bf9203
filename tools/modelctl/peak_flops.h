// What this machine's processor can compute at most, measured.
#pragma once

#include <cstdint>
#include <string>

namespace modeld::modelctl {

struct PeakFlops {
  double gflops = 0;         // float32, one fused multiply-add counted as two operations
  std::string instructions;  // "avx512", "avx2" or "portable"
};

// Runs `threads` threads of independent fused multiply-adds that never leave the registers, with
// the widest instructions the processor has (asked at run time), and answers the best of several
// short windows. Takes about half a second. This is a ceiling: no real network reaches it.
PeakFlops measure_peak_flops(uint32_t threads);

}  // namespace modeld::modelctl
