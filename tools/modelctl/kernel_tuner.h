// The search for better shapes of kernels (runtime/opencl/TUNING.md). Pure: what is measured, and
// on what, is behind KernelTrial's interface.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/opencl/device_info.h"
#include "runtime/opencl/tuning.h"

namespace modeld::modelctl {

// All ops of one signature.
struct OpSample {
  std::string op;   // the first one's name
  std::string how;  // the kernel it got
  size_t kernels = 0;
  // What was made of it: equal texts are equal kernels on equal ranges, whatever shaped them.
  std::string made;
  double ms = 0;  // of all of them, in a good replay: what disturbs a machine only ever adds
};

struct TrialTimes {
  std::map<std::string, OpSample> ops;  // by signature
  double total_ms = 0;                  // of a good replay, without single kernels being timed
};

// One way of shaping kernels, made and measured. kCheckFailed: the answers are not the reference's;
// kInterrupted ends the search; other errors say why it cannot be made here.
class KernelBench {
 public:
  virtual ~KernelBench() = default;
  // Every op shaped by `shape`.
  virtual Result<TrialTimes> try_shape(const opencl::KernelShape& shape) = 0;
  // Ops in `tuning` shaped as it says, all others by the device's defaults.
  virtual Result<TrialTimes> try_tuning(const opencl::Tuning& tuning) = 0;
};

struct TunerOptions {
  Nanoseconds budget = 120 * kSecond;  // no trial begins after it
  // A kernel must be faster by this part of its time, and the whole by a fifth of it: less is
  // noise.
  double margin = 0.05;
  std::function<void(double)> progress = [](double) {};  // 0 .. 1
};

struct TunedOp {
  OpSample before;
  double after_ms = 0;
  opencl::KernelShape shape;
};

struct RejectedShape {
  opencl::KernelShape shape;
  std::string reason;
};

struct TuningReport {
  size_t candidates = 0;
  size_t tried = 0;
  bool out_of_time = false;
  std::vector<RejectedShape> rejected;
  std::vector<TunedOp> ops;  // better on their own, twice over; the most gained first
  double default_ms = 0;     // of a replay; measured in turn with the next
  double tuned_ms = 0;       // equal to default_ms if nothing was found
  bool kept = false;         // the whole is faster too
  opencl::Tuning tuning;     // what to keep; empty unless `kept`
};

// Shapes worth trying on a device: first those that differ from the defaults in one way, then
// vectors and tiles together.
std::vector<opencl::KernelShape> candidate_shapes(const opencl::KernelShape& defaults,
                                                  const opencl::DeviceInfo& device);

// An error is a search that could not be made: the defaults do not run, or it was interrupted.
Result<TuningReport> tune_kernels(KernelBench& bench,
                                  const std::vector<opencl::KernelShape>& candidates,
                                  const Clock& clock, const TunerOptions& options);

}  // namespace modeld::modelctl
