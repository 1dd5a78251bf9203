// Staging, replay, wait and outputs: the contract of runtime/device/capture.h.
#include <cmath>

#include "tests/conformance/backend_suite.h"
#include "tests/support/allocation_counter.h"

namespace modeld::test {
namespace {

using Values = std::vector<double>;
const TensorType kPair{DType::kFloat32, {2}};

// y = 2 x + 1
ProgramBuilder affine() {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", kPair);
  const TensorId two = builder.constant(DType::kFloat32, {}, {2});
  const TensorId one = builder.constant(DType::kFloat32, {}, {1});
  const TensorId doubled = builder.op(OpKind::kMul, {x, two});
  builder.output(builder.op(OpKind::kAdd, {doubled, one}), "y");
  return builder;
}

// Work enough to be seen in flight: long rows of a function without a shortcut.
ProgramBuilder slow() {
  ProgramBuilder builder;
  TensorId x = builder.input("x", {DType::kFloat32, {1 << 20}});
  for (int i = 0; i < 40; ++i) x = builder.op(OpKind::kSoftplus, {x});
  builder.output(x, "y");
  return builder;
}

TEST_P(Conformance, CapabilitiesAreProbed) {
  const DeviceCapabilities& found = device().capabilities();
  EXPECT_FALSE(found.backend.empty());
  EXPECT_FALSE(found.name.empty());
  EXPECT_GT(found.max_allocation_bytes, 0u);
  EXPECT_GT(found.address_bits, 0u);
  ASSERT_FALSE(found.page_bytes.empty());
  EXPECT_FALSE(found.memory.empty());
  EXPECT_NE(found.base_alignment_bytes, 0u);
}

TEST_P(Conformance, SlotsFollowTheProgram) {
  ProgramBuilder builder = affine();
  const TensorId s = builder.state("s", {DType::kInt16, {3}});
  builder.feed_back(s, builder.op(OpKind::kNeg, {s}));
  const auto capture = record(builder);
  ASSERT_EQ(capture->inputs().size(), 1u);
  EXPECT_EQ(capture->inputs()[0].name, "x");
  EXPECT_EQ(capture->inputs()[0].type, kPair);
  EXPECT_EQ(capture->inputs()[0].bytes, 8u);
  ASSERT_EQ(capture->outputs().size(), 1u);
  EXPECT_EQ(capture->outputs()[0].name, "y");
  ASSERT_EQ(capture->states().size(), 1u);
  EXPECT_EQ(capture->states()[0].name, "s");
  EXPECT_EQ(capture->states()[0].bytes, 6u);
  EXPECT_EQ(find_slot(capture->inputs(), "x"), std::optional<size_t>(0));
  EXPECT_EQ(find_slot(capture->inputs(), "y"), std::nullopt);
}

TEST_P(Conformance, StagingIsAlignedAndStays) {
  const auto capture = record(affine());
  const std::span<std::byte> staging = capture->staging(0);
  EXPECT_EQ(staging.size(), 8u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(staging.data()) % 64, 0u);
  run(*capture);
  EXPECT_EQ(capture->staging(0).data(), staging.data());
}

TEST_P(Conformance, ComputesWhatWasStaged) {
  const auto capture = record(affine());
  stage(*capture, "x", {3, -4});
  run(*capture);
  EXPECT_EQ(output_of(*capture, "y"), (Values{7, -7}));
  stage(*capture, "x", {0.5, 10});
  run(*capture);
  EXPECT_EQ(output_of(*capture, "y"), (Values{2, 21}));
}

TEST_P(Conformance, OutputsOfOneReplayOutliveTheNext) {
  const auto capture = record(affine());
  stage(*capture, "x", {1, 1});
  run(*capture);
  const std::span<const std::byte> first = capture->output(0);
  const std::vector<std::byte> copy(first.begin(), first.end());
  stage(*capture, "x", {100, 100});
  auto submission = capture->replay();
  ASSERT_TRUE(submission.ok());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), copy.begin()));
  ASSERT_TRUE((*submission)->wait(soon()).ok());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), copy.begin()));
  EXPECT_EQ(output_of(*capture, "y"), (Values{201, 201}));
}

TEST_P(Conformance, OutputsMayBeInputsConstantsAndStates) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", kPair);
  const TensorId c = builder.constant(DType::kFloat32, {2}, {5, 6});
  const TensorId s = builder.state("s", kPair, to_bytes(DType::kFloat32, Values{7, 8}));
  const TensorId next = builder.op(OpKind::kAdd, {s, x});
  const TensorId t = builder.state("t", kPair);
  builder.feed_back(s, next);
  builder.feed_back(t, next);
  builder.output(x, "x");
  builder.output(c, "c");
  builder.output(s, "s");
  builder.output(next, "next");
  builder.output(t, "t");
  const auto capture = record(builder);
  stage(*capture, "x", {1, 2});
  run(*capture);
  EXPECT_EQ(output_of(*capture, "x"), (Values{1, 2}));
  EXPECT_EQ(output_of(*capture, "c"), (Values{5, 6}));
  EXPECT_EQ(output_of(*capture, "s"), (Values{7, 8}));
  EXPECT_EQ(output_of(*capture, "next"), (Values{8, 10}));
  EXPECT_EQ(output_of(*capture, "t"), (Values{0, 0}));
  ASSERT_TRUE(capture->commit().ok());
  stage(*capture, "x", {10, 20});
  run(*capture);
  EXPECT_EQ(output_of(*capture, "s"), (Values{8, 10}));
  EXPECT_EQ(output_of(*capture, "next"), (Values{18, 30}));
  EXPECT_EQ(output_of(*capture, "t"), (Values{8, 10}));
  EXPECT_EQ(output_of(*capture, "x"), (Values{10, 20}));
}

TEST_P(Conformance, ReportKeepsPhasesApart) {
  ProgramBuilder builder = affine();
  builder.program().ops[0].phase = Phase::kHistory;
  const auto capture = record(builder);
  const Nanoseconds before = Clock::real().monotonic();
  const ReplayReport report = run(*capture);
  const Nanoseconds after = Clock::real().monotonic();
  const PhaseTimes& warp = report.phases[static_cast<size_t>(Phase::kWarp)];
  EXPECT_EQ(warp.started, 0);
  EXPECT_EQ(warp.ended, 0);
  if (device().capabilities().timestamps != Probed::kYes) return;
  const PhaseTimes& history = report.phases[static_cast<size_t>(Phase::kHistory)];
  const PhaseTimes& model = report.phases[static_cast<size_t>(Phase::kModel)];
  for (const PhaseTimes& phase : {history, model}) {
    EXPECT_LE(before, phase.queued);
    EXPECT_LE(phase.queued, phase.submitted);
    EXPECT_LE(phase.submitted, phase.started);
    EXPECT_LE(phase.started, phase.ended);
    EXPECT_LE(phase.ended, after);
  }
  EXPECT_LE(history.ended, model.started);
}

TEST_P(Conformance, WaitEndsAtItsDeadlineAndReplayInFlightIsRefused) {
  const auto capture = record(slow());
  auto submission = capture->replay();
  ASSERT_TRUE(submission.ok());
  const Status late = (*submission)->wait(Deadline{Clock::real().monotonic()});
  ASSERT_FALSE(late.ok()) << "the slow program is not slow enough for this test";
  EXPECT_EQ(late.error().code, ErrorCode::kDeadline);
  const auto second = capture->replay();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE((*submission)->wait(soon()).ok());
  ASSERT_TRUE((*submission)->wait(soon()).ok());
  // softplus^40(0): x -> log(1 + e^x) from 0 gives log(40 + 1).
  EXPECT_NEAR(output_of(*capture, "y")[12345], std::log(41.0), 1e-4);
}

TEST_P(Conformance, DestructionWaitsForWorkInFlight) {
  auto capture = record(slow());
  ASSERT_TRUE(capture->replay().ok());
  const Nanoseconds before = Clock::real().monotonic();
  capture.reset();
  EXPECT_LT(Clock::real().monotonic() - before, 30 * kSecond);
}

TEST_P(Conformance, CapturesOfOneDeviceDoNotMeet) {
  const auto one = record(affine());
  const auto other = record(affine());
  stage(*one, "x", {1, 2});
  stage(*other, "x", {10, 20});
  auto first = one->replay();
  auto second = other->replay();
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE((*second)->wait(soon()).ok());
  ASSERT_TRUE((*first)->wait(soon()).ok());
  EXPECT_EQ(output_of(*one, "y"), (Values{3, 5}));
  EXPECT_EQ(output_of(*other, "y"), (Values{21, 41}));
}

TEST_P(Conformance, ReplayIsBitIdentical) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {64, 64}});
  const TensorId product = builder.op(OpKind::kMatMul, {x, x});
  builder.output(builder.op(OpKind::kSoftmax, {product}, {{"axis", int64_t{1}}}), "y");
  const auto capture = record(builder);
  Values values;
  for (int i = 0; i < 64 * 64; ++i) values.push_back(std::sin(i));
  stage(*capture, "x", to_bytes(DType::kFloat32, values));
  run(*capture);
  const std::vector<double> first = output_of(*capture, "y");
  for (int i = 0; i < 5; ++i) {
    run(*capture);
    EXPECT_EQ(output_of(*capture, "y"), first);
  }
}

TEST_P(Conformance, RunTimeFaultsAreFlaggedAndGiveZero) {
  ProgramBuilder builder;
  const TensorId index = builder.input("index", {DType::kInt64, {3}});
  const TensorId divisor = builder.input("divisor", {DType::kInt32, {2}});
  const TensorId table = builder.constant(DType::kFloat32, {2, 2}, {1, 2, 3, 4});
  const TensorId dividend = builder.constant(DType::kInt32, {2}, {9, -9});
  builder.output(builder.op(OpKind::kGather, {table, index}, {{"axis", int64_t{0}}}), "rows");
  builder.output(builder.op(OpKind::kDiv, {dividend, divisor}), "quotient");
  const auto capture = record(builder);

  stage(*capture, "index", {1, -2, 0});
  stage(*capture, "divisor", {2, 2});
  ReplayReport report = run(*capture);
  EXPECT_EQ(report.index_out_of_range, 0u);
  EXPECT_EQ(report.integer_division_by_zero, 0u);
  EXPECT_EQ(output_of(*capture, "rows"), (Values{3, 4, 1, 2, 1, 2}));
  EXPECT_EQ(output_of(*capture, "quotient"), (Values{4, -4}));

  stage(*capture, "index", {2, 0, -3});
  stage(*capture, "divisor", {0, 3});
  report = run(*capture);
  EXPECT_EQ(report.index_out_of_range, 2u);
  EXPECT_EQ(report.integer_division_by_zero, 1u);
  EXPECT_EQ(output_of(*capture, "rows"), (Values{0, 0, 1, 2, 0, 0}));
  EXPECT_EQ(output_of(*capture, "quotient"), (Values{0, -3}));

  stage(*capture, "index", {0, 0, 0});
  stage(*capture, "divisor", {1, 1});
  report = run(*capture);
  EXPECT_EQ(report.index_out_of_range, 0u);
  EXPECT_EQ(report.integer_division_by_zero, 0u);
}

TEST_P(Conformance, UnreadableWeightsAreNamed) {
  ProgramBuilder builder = affine();
  MemoryWeights weights({});
  const auto capture = device().record(builder.program(), weights, {});
  ASSERT_FALSE(capture.ok());
  EXPECT_EQ(capture.error().code, ErrorCode::kCorrupt);
}

TEST_P(Conformance, BuffersKeepTheirPromises) {
  auto buffer = device().allocate(1000, 4096);
  ASSERT_TRUE(buffer.ok());
  EXPECT_GE((*buffer)->size(), 1000u);
  EXPECT_EQ((*buffer)->alignment() % 4096, 0u);
  EXPECT_EQ((*buffer)->ownership(), BufferOwnership::kOwned);
  const std::vector<std::byte> bytes(10, std::byte{7});
  ASSERT_TRUE((*buffer)->write(990, bytes).ok());
  ASSERT_TRUE((*buffer)->flush().ok());
  ASSERT_TRUE((*buffer)->invalidate().ok());
  std::vector<std::byte> back(10);
  ASSERT_TRUE((*buffer)->read(990, back).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_EQ((*buffer)->write((*buffer)->size() - 9, bytes).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ((*buffer)->read(~uint64_t{0}, back).error().code, ErrorCode::kInvalidArgument);

  const auto too_large = device().allocate(uint64_t{1} << 62, 64);
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().code, ErrorCode::kExhausted);
  EXPECT_NE(too_large.error().found.find("4611686018427387904"), std::string::npos);
  EXPECT_FALSE(device().allocate(16, 3).ok());
}

TEST_P(Conformance, SteadyStateAllocatesNothing) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer replaces malloc";
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {1, 3, 16, 16}});
  const TensorId w = builder.input("w", {DType::kFloat32, {8, 3, 3, 3}});
  const TensorId s = builder.state("s", {DType::kFloat32, {1, 8, 16, 16}});
  const TensorId y = builder.op(OpKind::kConv, {x, w},
                                {{"strides", std::vector<int64_t>{1, 1}},
                                 {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                                 {"dilations", std::vector<int64_t>{1, 1}},
                                 {"group", int64_t{1}}});
  const TensorId mixed = builder.op(OpKind::kAdd, {y, s});
  builder.feed_back(s, builder.op(OpKind::kTanh, {mixed}));
  builder.output(builder.op(OpKind::kReduceMean, {mixed},
                            {{"axes", std::vector<int64_t>{1, 2, 3}}, {"keepdims", int64_t{0}}}),
                 "mean");
  const auto capture = record(builder);
  const auto frame = [&](int i) {
    capture->staging(0)[static_cast<size_t>(i)] = std::byte{1};
    auto submission = capture->replay();
    const bool ok = submission.ok() && (*submission)->wait(soon()).ok();
    return ok && capture->output(0).size() == 4 && capture->commit().ok();
  };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(frame(i));
  const auto& driver = GetParam().driver_allocations;
  const auto count = [&] {
    return driver ? thread_allocation_count() - driver() : allocation_count();
  };
  const uint64_t before = count();
  bool all = true;
  for (int i = 0; i < 100; ++i) all = frame(i) && all;
  EXPECT_EQ(count() - before, 0u);
  EXPECT_TRUE(all);
}

}  // namespace
}  // namespace modeld::test
