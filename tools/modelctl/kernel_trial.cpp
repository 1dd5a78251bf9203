#include "tools/modelctl/kernel_trial.h"

#include <algorithm>

#include "runtime/selftest/self_test.h"
#include "tools/modelctl/interrupt.h"

namespace modeld::modelctl {
namespace {

constexpr Nanoseconds kReplayDeadline = 60 * kSecond;
constexpr uint64_t kInputSeed = 1;
constexpr size_t kWarmUp = 3;
constexpr size_t kReplays = 15;

// The lower quartile.
double good_ms(std::vector<Nanoseconds> samples) {
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 4);
  std::nth_element(samples.begin(), at, samples.end());
  return static_cast<double>(*at) / kMillisecond;
}

std::string made(const opencl::StepInfo& step) {
  std::string text = step.kernel;
  for (const auto& range : {step.global, step.local}) {
    for (const size_t extent : range) text += " " + std::to_string(extent);
  }
  return text + ";";
}

Result<Nanoseconds> replay(Capture& capture) {
  if (interrupted()) return Error(ErrorCode::kInterrupted, "tuning interrupted");
  const Nanoseconds start = Clock::real().monotonic();
  MODELD_ASSIGN(Submission * submission, capture.replay());
  MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
  MODELD_TRY(capture.commit());
  return Clock::real().monotonic() - start;
}

Status time_kernels(Capture& capture, TrialTimes& times) {
  std::map<std::string, std::vector<Nanoseconds>> samples;
  opencl::keep_opencl_step_times(capture, true);
  for (size_t i = 0; i < kReplays; ++i) {
    MODELD_TRY(replay(capture));
    std::map<std::string, Nanoseconds> sums;
    for (const opencl::StepInfo& step : opencl::opencl_steps(capture)) {
      if (!step.signature.empty()) sums[step.signature] += step.time;
    }
    for (const auto& [signature, sum] : sums) samples[signature].push_back(sum);
  }
  opencl::keep_opencl_step_times(capture, false);
  for (const opencl::StepInfo& step : opencl::opencl_steps(capture)) {
    if (step.signature.empty()) continue;
    OpSample& sample = times.ops[step.signature];
    sample.made += made(step);
    if (sample.kernels++ == 0) {
      sample.op = step.op;
      sample.how = step.how;
      sample.ms = good_ms(samples[step.signature]);
    }
  }
  return {};
}

}  // namespace

Result<TrialTimes> KernelTrial::measure(const opencl::Traits& traits,
                                        const opencl::Tuning& tuning) const {
  opencl::OpenOptions options;
  options.wish = wish_;
  options.traits = traits;
  options.tuning = tuning;
  MODELD_ASSIGN(const auto device, opencl::open_device(options));
  SelfTestOptions test;
  test.repeats = 1;
  test.replay_deadline = kReplayDeadline;
  test.stop = interrupted;
  MODELD_ASSIGN(const SelfTestReport checked, run_self_test(*device, model_, test));
  if (!checked.passed) return Error(ErrorCode::kCheckFailed, describe_failure(checked));
  MODELD_ASSIGN(const CaptureOptions capture_options, reference_capture_options(model_.contract));
  MODELD_ASSIGN(const auto capture,
                device->record(model_.program, *model_.weights, capture_options));
  for (size_t i = 0; i < capture->inputs().size(); ++i) {
    fill_reference_input(model_.contract, i, kInputSeed, 0, capture->staging(i));
  }
  TrialTimes times;
  for (size_t i = 0; i < kWarmUp; ++i) MODELD_TRY(replay(*capture));
  MODELD_TRY(time_kernels(*capture, times));
  std::vector<Nanoseconds> totals;
  for (size_t i = 0; i < kReplays; ++i) {
    MODELD_ASSIGN(const Nanoseconds took, replay(*capture));
    totals.push_back(took);
  }
  times.total_ms = good_ms(std::move(totals));
  return times;
}

Result<TrialTimes> KernelTrial::try_shape(const opencl::KernelShape& shape) {
  opencl::Traits traits = defaults_;
  static_cast<opencl::KernelShape&>(traits) = shape;
  return measure(traits, {});
}

Result<TrialTimes> KernelTrial::try_tuning(const opencl::Tuning& tuning) {
  return measure(defaults_, tuning);
}

}  // namespace modeld::modelctl
