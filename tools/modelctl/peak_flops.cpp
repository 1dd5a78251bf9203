#include "tools/modelctl/peak_flops.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#if defined(__x86_64__) && !defined(MODELD_NO_SIMD)
#include <immintrin.h>
#define MODELD_PEAK_X86 1
#endif

namespace modeld::modelctl {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kWindows = 8;
constexpr auto kWindow = std::chrono::milliseconds(50);
// Enough independent chains to hide the latency of a multiply-add on any current processor (4 or 5
// cycles, two units), few enough to stay in the registers.
constexpr int kChains = 12;
constexpr int kRounds = 20'000;
// x <- x * kFactor + kTerm converges to 1: neither overflow nor denormals slow it down.
constexpr float kFactor = 0.999f;
constexpr float kTerm = 0.001f;

// Operations per call, and a value that depends on all of them, so that none can be left out.
struct Burst {
  double operations = 0;
  float value = 0;
};

#ifdef MODELD_PEAK_X86

__attribute__((target("avx512f"))) Burst burst_avx512() {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(kFactor);
  const __m512 term = _mm512_set1_ps(kTerm);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
  }
  alignas(64) float lanes[16];
  float value = 0;
  for (const __m512& sum : sums) {
    _mm512_store_ps(lanes, sum);
    for (const float lane : lanes) value += lane;
  }
  return {2.0 * 16 * kChains * kRounds, value};
}

__attribute__((target("avx2,fma"))) Burst burst_avx2() {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(kFactor);
  const __m256 term = _mm256_set1_ps(kTerm);
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
  }
  alignas(32) float lanes[8];
  float value = 0;
  for (const __m256& sum : sums) {
    _mm256_store_ps(lanes, sum);
    for (const float lane : lanes) value += lane;
  }
  return {2.0 * 8 * kChains * kRounds, value};
}

#endif

// Multiply and add apart, as wide as the compiler makes it for the baseline processor.
Burst burst_portable() {
  constexpr int kLanes = 4;
  float sums[kChains * kLanes];
  for (int i = 0; i < kChains * kLanes; ++i) sums[i] = static_cast<float>(i);
  for (int round = 0; round < kRounds; ++round) {
    for (float& sum : sums) sum = sum * kFactor + kTerm;
  }
  float value = 0;
  for (const float sum : sums) value += sum;
  return {2.0 * kChains * kLanes * kRounds, value};
}

struct Kernel {
  Burst (*run)();
  const char* instructions;
};

Kernel widest_kernel() {
#ifdef MODELD_PEAK_X86
  if (__builtin_cpu_supports("avx512f")) return {burst_avx512, "avx512"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {burst_avx2, "avx2"};
#endif
  return {burst_portable, "portable"};
}

// One thread for one window: operations per second.
double measure_window(const Kernel& kernel, std::atomic<float>& sink) {
  const auto start = SteadyClock::now();
  double operations = 0;
  std::chrono::duration<double> took{};
  do {
    const Burst burst = kernel.run();
    operations += burst.operations;
    sink.store(burst.value, std::memory_order_relaxed);
    took = SteadyClock::now() - start;
  } while (took < kWindow);
  return operations / took.count();
}

}  // namespace

PeakFlops measure_peak_flops(uint32_t threads) {
  const Kernel kernel = widest_kernel();
  std::atomic<float> sink{0};
  double best = 0;
  for (int window = 0; window < kWindows; ++window) {
    std::vector<double> rates(std::max(threads, 1u));
    std::vector<std::jthread> team;
    for (double& rate : rates) {
      team.emplace_back([&] { rate = measure_window(kernel, sink); });
    }
    team.clear();  // joins
    double sum = 0;
    for (const double rate : rates) sum += rate;
    best = std::max(best, sum);
  }
  return {best / 1e9, kernel.instructions};
}

}  // namespace modeld::modelctl
