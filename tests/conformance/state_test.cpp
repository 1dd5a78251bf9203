// State: shadow and commit, reset, mirroring, histories.
#include <deque>

#include "tests/conformance/backend_suite.h"

namespace modeld::test {
namespace {

using Values = std::vector<double>;

// count' = count + step, from 10.
ProgramBuilder counter() {
  ProgramBuilder builder;
  const TensorId step = builder.input("step", {DType::kInt32, {1}});
  const TensorId count =
      builder.state("count", {DType::kInt32, {1}}, to_bytes(DType::kInt32, Values{10}));
  const TensorId next = builder.op(OpKind::kAdd, {count, step});
  builder.feed_back(count, next);
  builder.output(builder.op(OpKind::kNeg, {next}), "negative");
  return builder;
}

TEST_P(Conformance, StateMovesOnlyOnCommit) {
  const auto capture = record(counter());
  stage(*capture, "step", {1});
  EXPECT_EQ(state_of(*capture, "count"), Values{10});
  run(*capture);
  EXPECT_EQ(output_of(*capture, "negative"), Values{-11});
  EXPECT_EQ(state_of(*capture, "count"), Values{10});
  run(*capture);  // not committed: the same again
  EXPECT_EQ(output_of(*capture, "negative"), Values{-11});
  ASSERT_TRUE(capture->commit().ok());
  EXPECT_EQ(state_of(*capture, "count"), Values{11});
  ASSERT_TRUE(capture->commit().ok());  // a second commit does nothing
  EXPECT_EQ(state_of(*capture, "count"), Values{11});
  run(*capture);
  EXPECT_EQ(output_of(*capture, "negative"), Values{-12});
}

TEST_P(Conformance, CommitWithoutReplayDoesNothing) {
  const auto capture = record(counter());
  ASSERT_TRUE(capture->commit().ok());
  EXPECT_EQ(state_of(*capture, "count"), Values{10});
}

TEST_P(Conformance, ResetReturnsToTheInitialValuesAndDropsTheShadow) {
  const auto capture = record(counter());
  stage(*capture, "step", {5});
  run(*capture);
  ASSERT_TRUE(capture->commit().ok());
  run(*capture);
  ASSERT_TRUE(capture->reset_state().ok());
  EXPECT_EQ(state_of(*capture, "count"), Values{10});
  ASSERT_TRUE(capture->commit().ok());
  EXPECT_EQ(state_of(*capture, "count"), Values{10});
  run(*capture);
  EXPECT_EQ(output_of(*capture, "negative"), Values{-15});
}

// A state need not be an output: what is wrong with it is reported with the replay that made it.
TEST_P(Conformance, NextStatesThatAreNotFiniteAreCounted) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {1, 4}});
  const TensorId y = builder.input("y", {DType::kFloat32, {1, 4}});
  const TensorId memory = builder.state("memory", {DType::kFloat32, {1, 4}}, {});
  const TensorId half = builder.state("half", {DType::kFloat16, {1, 4}}, {});
  const TensorId ratio = builder.op(OpKind::kDiv, {x, y});
  builder.feed_back(memory, ratio);
  builder.feed_back(half, builder.op(OpKind::kCast, {ratio}, {{"to", std::string("f16")}}));
  builder.output(builder.op(OpKind::kAdd, {builder.op(OpKind::kMul, {x, y}), memory}), "product");
  const auto capture = record(builder);
  stage(*capture, "x", {0, 1, -1, 3});
  stage(*capture, "y", {0, 0, 0, 1});
  // 0/0, 1/0 and -1/0, in both states.
  EXPECT_EQ(run(*capture).states_not_finite, 6u);
  EXPECT_EQ(output_of(*capture, "product"), (Values{0, 0, 0, 3}));
  stage(*capture, "y", {1, 2, 4, 1});
  EXPECT_EQ(run(*capture).states_not_finite, 0u);
}

TEST_P(Conformance, StateCanBeMirrored) {
  const auto primary = record(counter());
  const auto fallback = record(counter());
  stage(*primary, "step", {7});
  run(*primary);
  ASSERT_TRUE(primary->commit().ok());
  std::vector<std::byte> bytes(4);
  ASSERT_TRUE(primary->read_state(0, bytes).ok());
  ASSERT_TRUE(fallback->write_state(0, bytes).ok());
  stage(*fallback, "step", {1});
  run(*fallback);
  EXPECT_EQ(output_of(*fallback, "negative"), Values{-18});
}

TEST_P(Conformance, WrongStateAccessIsRefused) {
  const auto capture = record(counter());
  std::vector<std::byte> bytes(3);
  Status status = capture->read_state(0, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  status = capture->write_state(0, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  bytes.resize(4);
  EXPECT_FALSE(capture->read_state(1, bytes).ok());
  EXPECT_FALSE(capture->write_state(1, bytes).ok());
}

// A queue of the last four pictures in front of a maximum over time, as driving models keep it.
TEST_P(Conformance, HistoryQueueSkipsTornFrames) {
  constexpr int64_t kDepth = 4;
  ProgramBuilder builder;
  const TensorId picture = builder.input("picture", {DType::kUInt8, {1, 2, 3}});
  const TensorId queue = builder.state("queue", {DType::kUInt8, {kDepth, 2, 3}});
  using Ints = std::vector<int64_t>;
  const TensorId kept = builder.op(
      OpKind::kSlice, {queue},
      {{"starts", Ints{1, 0, 0}}, {"steps", Ints{1, 1, 1}}, {"sizes", Ints{kDepth - 1, 2, 3}}},
      Phase::kHistory);
  const TensorId next =
      builder.op(OpKind::kConcat, {kept, picture}, {{"axis", int64_t{0}}}, Phase::kHistory);
  builder.feed_back(queue, next);
  builder.output(next, "queue_out");
  const auto capture = record(builder);

  std::deque<double> expected(kDepth, 0.0);
  for (int frame = 1; frame <= 30; ++frame) {
    const double painted = frame;
    stage(*capture, "picture", {painted, painted, painted, painted, painted, painted});
    run(*capture);
    std::deque<double> shown = expected;
    shown.pop_front();
    shown.push_back(painted);
    const std::vector<double> out = output_of(*capture, "queue_out");
    ASSERT_EQ(out.size(), 6u * kDepth);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], shown[i / 6]) << "frame " << frame << " element " << i;
    }
    if (frame % 3 == 0) continue;  // torn: not committed
    ASSERT_TRUE(capture->commit().ok());
    expected = shown;
  }
}

TEST_P(Conformance, StatesOfDifferentSizesSwapTogether) {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {1}});
  const TensorId a = builder.state("a", {DType::kFloat32, {1}});
  const TensorId b = builder.state("b", {DType::kFloat32, {3}});
  // a' = a + x; b' = b + a (the old a).
  builder.feed_back(a, builder.op(OpKind::kAdd, {a, x}));
  builder.feed_back(b, builder.op(OpKind::kAdd, {b, a}));
  const auto capture = record(builder);
  stage(*capture, "x", {1});
  for (int i = 0; i < 4; ++i) {
    run(*capture);
    ASSERT_TRUE(capture->commit().ok());
  }
  EXPECT_EQ(state_of(*capture, "a"), Values{4});
  EXPECT_EQ(state_of(*capture, "b"), (Values{6, 6, 6}));  // 0 + 1 + 2 + 3
}

}  // namespace
}  // namespace modeld::test
