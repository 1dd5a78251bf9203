// The processor as a compute device: the embedded default. README.md beside this file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/backends.h"
#include "runtime/device/device.h"

namespace modeld {

// `options.threads` 0: two, or as many as the processor has if that is less. Never fails.
std::unique_ptr<Device> open_cpu_device(const BackendOptions& options = {});

// One step of a capture that open_cpu_device()'s device recorded.
struct CpuStep {
  std::string op;              // name of the program's op, or of the tensor that is converted
  std::string implementation;  // "oneDNN brgconv:avx512_core + residual", "own: pointwise", ..
  bool shared = false;         // between the threads
  Nanoseconds time = 0;        // in the last completed replay; 0 unless step times are kept
};

// In order of execution; empty for captures of other devices. Not while a replay is in flight.
// For `modelctl inspect --lowering cpu`.
std::vector<CpuStep> cpu_steps(const Capture& capture);

// From the next replay on a clock is read after every step (some 30 ns each). Off at first.
void keep_cpu_step_times(Capture& capture, bool keep);

}  // namespace modeld
