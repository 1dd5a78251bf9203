#include "tools/modelctl/kernel_times.h"

#include <algorithm>
#include <map>

#include "runtime/opencl/opencl_device.h"
#include "runtime/program/cost.h"

namespace modeld::modelctl {
namespace {

constexpr size_t kReplays = 21;
constexpr Nanoseconds kReplayDeadline = 600 * kSecond;

double median_ms(std::vector<Nanoseconds> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return static_cast<double>(*middle) / kMillisecond;
}

// Multiply-accumulates by the name the backend gives an op's kernels.
std::map<std::string, uint64_t> macs_by_op(const Program& program) {
  std::map<std::string, uint64_t> macs;
  for (const Op& op : program.ops) {
    macs[op.name.empty() ? std::string(to_string(op.kind)) : op.name] += op_cost(program, op).macs;
  }
  return macs;
}

struct Samples {
  std::vector<Nanoseconds> sums;
  std::vector<Nanoseconds> rests;
  std::vector<std::vector<Nanoseconds>> ops;
};

}  // namespace

Result<std::optional<KernelTimes>> measure_kernels(Capture& capture, const Program& program) {
  const std::vector<opencl::StepInfo> steps = opencl::opencl_steps(capture);
  if (steps.empty()) return std::optional<KernelTimes>();
  KernelTimes times;
  times.kernels = steps.size();
  std::map<std::string, size_t> index;
  for (const opencl::StepInfo& step : steps) {
    const auto [at, fresh] = index.emplace(step.op, times.ops.size());
    if (fresh) times.ops.push_back({step.op, step.how});
    ++times.ops[at->second].kernels;
  }
  Samples samples;
  samples.ops.resize(times.ops.size());
  opencl::keep_opencl_step_times(capture, true);
  for (size_t replay = 0; replay < kReplays; ++replay) {
    const Nanoseconds start = Clock::real().monotonic();
    MODELD_ASSIGN(Submission * submission, capture.replay());
    MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
    MODELD_TRY(capture.commit());
    const Nanoseconds wall = Clock::real().monotonic() - start;
    Nanoseconds sum = 0;
    std::vector<Nanoseconds> ops(times.ops.size(), 0);
    for (const opencl::StepInfo& step : opencl::opencl_steps(capture)) {
      ops[index.at(step.op)] += step.time;
      sum += step.time;
    }
    for (size_t i = 0; i < ops.size(); ++i) samples.ops[i].push_back(ops[i]);
    samples.sums.push_back(sum);
    samples.rests.push_back(wall - sum);
  }
  opencl::keep_opencl_step_times(capture, false);
  times.kernels_ms = median_ms(samples.sums);
  times.overhead_ms = median_ms(samples.rests);
  const std::map<std::string, uint64_t> macs = macs_by_op(program);
  for (size_t i = 0; i < times.ops.size(); ++i) {
    OpTime& op = times.ops[i];
    op.ms = median_ms(samples.ops[i]);
    const auto work = macs.find(op.op);
    if (work == macs.end() || op.ms <= 0) continue;
    op.gflops = 2 * static_cast<double>(work->second) / (op.ms * 1e6);
  }
  std::stable_sort(times.ops.begin(), times.ops.end(),
                   [](const OpTime& a, const OpTime& b) { return a.ms > b.ms; });
  return std::optional<KernelTimes>(std::move(times));
}

}  // namespace modeld::modelctl
