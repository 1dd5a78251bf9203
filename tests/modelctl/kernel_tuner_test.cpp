// The search for kernel shapes, on a bench that says what it is told to.
#include "tools/modelctl/kernel_tuner.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace modeld::modelctl {
namespace {

using opencl::KernelShape;
using opencl::Tuning;

opencl::DeviceInfo gpu() {
  opencl::DeviceInfo device;
  device.type = CL_DEVICE_TYPE_GPU;
  device.max_work_group = 256;
  return device;
}

KernelShape with_rows(uint32_t rows) {
  KernelShape shape;
  shape.tile_rows = rows;
  return shape;
}

// Times follow from the number of tile rows an op has; answers may be wrong for some.
class ScriptedBench final : public KernelBench {
 public:
  ScriptedBench(ManualClock& clock, std::function<double(const std::string&, uint32_t)> ms)
      : clock_(clock), ms_(std::move(ms)) {}

  Result<TrialTimes> try_shape(const KernelShape& shape) override {
    tried.push_back(shape);
    if (const auto error = errors.find(shape.tile_rows); error != errors.end()) {
      clock_.advance(kSecond);
      return error->second;
    }
    return times([&](const std::string&) { return shape.tile_rows; });
  }
  Result<TrialTimes> try_tuning(const Tuning& tuning) override {
    return times([&](const std::string& signature) {
      const KernelShape* const found = tuning.find(signature);
      return found == nullptr ? KernelShape().tile_rows : found->tile_rows;
    });
  }

  std::vector<KernelShape> tried;
  std::map<uint32_t, Error> errors;   // by tile rows
  double rest_ms = 0;                 // of a replay, beside its kernels
  double tuned_rest_ms = 0;           // more of that when anything is tuned
  std::set<std::string> indifferent;  // ops whose kernel is the same whatever the shape

 private:
  Result<TrialTimes> times(const std::function<uint32_t(const std::string&)>& rows_of) {
    clock_.advance(kSecond);
    TrialTimes times;
    times.total_ms = rest_ms;
    bool tuned = false;
    for (const std::string signature : {"a", "b"}) {
      const uint32_t rows = rows_of(signature);
      const double ms = ms_(signature, rows);
      const std::string made = indifferent.contains(signature) ? "" : std::to_string(rows);
      times.ops[signature] = {"op " + signature, "tile", 1, made, ms};
      times.total_ms += ms;
      tuned = tuned || rows != KernelShape().tile_rows;
    }
    if (tuned) times.total_ms += tuned_rest_ms;
    return times;
  }

  ManualClock& clock_;
  std::function<double(const std::string&, uint32_t)> ms_;
};

std::vector<KernelShape> shapes() {
  return {with_rows(2), with_rows(8), with_rows(12)};
}

TEST(KernelTuner, EveryOpGetsTheShapeThatIsFastestForIt) {
  ManualClock clock;
  ScriptedBench bench(clock, [](const std::string& op, uint32_t rows) {
    const uint32_t best = op == "a" ? 8 : 2;
    return rows == best ? 5.0 : 10.0;
  });
  const auto report = tune_kernels(bench, shapes(), clock, {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->kept);
  EXPECT_EQ(report->tried, 3u);
  ASSERT_EQ(report->tuning.size(), 2u);
  EXPECT_EQ(report->tuning.find("a")->tile_rows, 8u);
  EXPECT_EQ(report->tuning.find("b")->tile_rows, 2u);
  EXPECT_EQ(report->default_ms, 20);
  EXPECT_EQ(report->tuned_ms, 10);
  ASSERT_EQ(report->ops.size(), 2u);
  EXPECT_EQ(report->ops[0].before.ms, 10);
  EXPECT_EQ(report->ops[0].after_ms, 5);
}

TEST(KernelTuner, LessThanTheMarginIsNoise) {
  ManualClock clock;
  ScriptedBench bench(clock,
                      [](const std::string&, uint32_t rows) { return rows == 8 ? 9.6 : 10.0; });
  const auto report = tune_kernels(bench, shapes(), clock, {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ops.empty());
  EXPECT_FALSE(report->kept);
  EXPECT_EQ(report->tuning.size(), 0u);
}

TEST(KernelTuner, WhatWasFasterOnceOnlyIsNotKept) {
  ManualClock clock;
  int asked = 0;
  // The machine was busy while the defaults were measured, and never again.
  ScriptedBench bench(clock,
                      [&](const std::string&, uint32_t) { return asked++ < 2 ? 20.0 : 10.0; });
  const auto report = tune_kernels(bench, shapes(), clock, {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ops.empty());
  EXPECT_FALSE(report->kept);
}

TEST(KernelTuner, TheSameKernelCannotBeFaster) {
  ManualClock clock;
  int asked = 0;
  ScriptedBench bench(clock, [&](const std::string&, uint32_t) { return 100.0 - asked++; });
  bench.indifferent = {"a", "b"};
  const auto report = tune_kernels(bench, shapes(), clock, {});
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ops.empty());
}

TEST(KernelTuner, FasterKernelsInASlowerWholeAreNotKept) {
  ManualClock clock;
  ScriptedBench bench(clock,
                      [](const std::string&, uint32_t rows) { return rows == 8 ? 5.0 : 10.0; });
  bench.tuned_rest_ms = 15;
  const auto report = tune_kernels(bench, shapes(), clock, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->ops.size(), 2u);
  EXPECT_FALSE(report->kept);
  EXPECT_EQ(report->tuning.size(), 0u);
}

TEST(KernelTuner, ShapesThatAnswerWronglyOrCannotBeMadeAreNamedAndPassedOver) {
  ManualClock clock;
  ScriptedBench bench(clock,
                      [](const std::string&, uint32_t rows) { return rows == 8 ? 5.0 : 8.0; });
  bench.errors.emplace(2, Error(ErrorCode::kCheckFailed, "outside tolerance"));
  bench.errors.emplace(12, Error(ErrorCode::kDevice, "out of registers"));
  const auto report = tune_kernels(bench, shapes(), clock, {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->rejected.size(), 2u);
  EXPECT_EQ(report->rejected[0].shape, with_rows(2));
  EXPECT_NE(report->rejected[0].reason.find("outside tolerance"), std::string::npos);
  EXPECT_NE(report->rejected[1].reason.find("out of registers"), std::string::npos);
  EXPECT_EQ(report->tuning.find("a")->tile_rows, 8u);
}

TEST(KernelTuner, BudgetEndsTheTrialsAndWhatWasFoundIsKept) {
  ManualClock clock;
  ScriptedBench bench(clock,
                      [](const std::string&, uint32_t rows) { return rows == 2 ? 5.0 : 10.0; });
  TunerOptions options;
  options.budget = 3 * kSecond / 2;
  const auto report = tune_kernels(bench, shapes(), clock, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tried, 1u);
  EXPECT_TRUE(report->out_of_time);
  EXPECT_TRUE(report->kept);
}

TEST(KernelTuner, InterruptionAndDefaultsThatDoNotRunAreErrors) {
  ManualClock clock;
  ScriptedBench bench(clock, [](const std::string&, uint32_t) { return 1.0; });
  bench.errors.emplace(8, Error(ErrorCode::kInterrupted, "tuning interrupted"));
  const auto report = tune_kernels(bench, shapes(), clock, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kInterrupted);
}

TEST(CandidateShapes, AreMakeableAndDifferFromTheDefaultsAndEachOther) {
  const KernelShape defaults;
  const auto candidates = candidate_shapes(defaults, gpu());
  EXPECT_GT(candidates.size(), 20u);
  for (size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_TRUE(opencl::check_shape(candidates[i], gpu()).ok()) << to_string(candidates[i]);
    EXPECT_NE(candidates[i], defaults);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(candidates[i], candidates[j]);
  }
  // A processor has no groups.
  KernelShape processor;
  processor.group = processor.reduce_group = 1;
  for (const KernelShape& shape : candidate_shapes(processor, gpu())) {
    EXPECT_EQ(shape.group, 1u);
    EXPECT_EQ(shape.reduce_group, 1u);
  }
}

}  // namespace
}  // namespace modeld::modelctl
