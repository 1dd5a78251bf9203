// Where a replay's time goes on the opencl backend: kernel by kernel, and what is no kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/device/capture.h"
#include "runtime/program/program.h"

namespace modeld::modelctl {

// All kernels of one op.
struct OpTime {
  std::string op;
  std::string how;
  size_t kernels = 0;
  double ms = 0;      // median over replays
  double gflops = 0;  // 0 for ops whose work is no sum of products
};

struct KernelTimes {
  size_t kernels = 0;
  double kernels_ms = 0;    // median over replays of the sum of their times
  double overhead_ms = 0;   // median over replays of wall time minus that sum
  std::vector<OpTime> ops;  // the heaviest first
};

// Replays the capture with the time of every kernel taken. Nothing for a capture of another
// backend; the error of a replay that fails.
Result<std::optional<KernelTimes>> measure_kernels(Capture& capture, const Program& program);

}  // namespace modeld::modelctl
