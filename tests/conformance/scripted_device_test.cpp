// The double itself: each fault it can play, seen through the interface everybody uses.
#include "tests/support/scripted_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/conformance/backend_suite.h"

namespace modeld::test {
namespace {

using Values = std::vector<double>;

// y = 2 x; count' = count + x.
class ScriptedDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    const TensorId x = builder_.input("x", {DType::kFloat32, {2}});
    const TensorId count = builder_.state("count", {DType::kFloat32, {2}});
    const TensorId two = builder_.constant(DType::kFloat32, {}, {2});
    builder_.feed_back(count, builder_.op(OpKind::kAdd, {count, x}));
    builder_.output(builder_.op(OpKind::kMul, {x, two}), "y");
    record();
  }

  void record() {
    MemoryWeights weights = builder_.weights();
    auto capture = device_->record(builder_.program(), weights, {});
    ASSERT_TRUE(capture.ok()) << to_string(capture.error());
    capture_ = std::move(capture).value();
    stage(*capture_, "x", {1, 2});
  }

  Deadline after(Nanoseconds duration) const { return Deadline::after(clock_, duration); }

  ManualClock clock_;
  std::shared_ptr<Script> script_ = std::make_shared<Script>(clock_);
  std::unique_ptr<Device> device_ = open_scripted_device(script_);
  ProgramBuilder builder_;
  std::unique_ptr<Capture> capture_;
};

TEST_F(ScriptedDeviceTest, GivesTheAnswersItIsGiven) {
  Behaviour behaviour;
  behaviour.answers = {{{"y", to_bytes(DType::kFloat32, Values{8, 9})}}};
  script_->set(behaviour);
  run(*capture_);
  EXPECT_EQ(output_of(*capture_, "y"), (Values{8, 9}));
  ASSERT_TRUE(capture_->commit().ok());
  EXPECT_EQ(state_of(*capture_, "count"), (Values{0, 0}));
  script_->set({});
  run(*capture_);
  EXPECT_EQ(output_of(*capture_, "y"), (Values{2, 4}));
  ASSERT_TRUE(capture_->commit().ok());
  EXPECT_EQ(state_of(*capture_, "count"), (Values{1, 2}));
  EXPECT_EQ(script_->replays(), 2u);
  EXPECT_EQ(script_->commits(), 2u);
}

TEST_F(ScriptedDeviceTest, DelaysOnTheClockOfItsScript) {
  Behaviour behaviour;
  behaviour.delay = 40 * kMillisecond;
  script_->set(behaviour);
  auto submission = capture_->replay();
  ASSERT_TRUE(submission.ok());
  clock_.advance(39 * kMillisecond);
  const Status early = (*submission)->wait(after(0));
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, ErrorCode::kDeadline);
  EXPECT_FALSE(capture_->replay().ok()) << "still in flight";
  clock_.advance(kMillisecond);
  EXPECT_TRUE((*submission)->wait(after(0)).ok());
  EXPECT_EQ(output_of(*capture_, "y"), (Values{2, 4}));
}

TEST_F(ScriptedDeviceTest, BlocksUntilTheDeadlinePasses) {
  Behaviour behaviour;
  behaviour.blocks = true;
  script_->set(behaviour);
  auto submission = capture_->replay();
  ASSERT_TRUE(submission.ok());
  const Deadline deadline = after(150 * kMillisecond);
  std::thread time([this] { clock_.advance(150 * kMillisecond); });
  const Status status = (*submission)->wait(deadline);
  time.join();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kDeadline);
  // For ever: neither a new script nor time frees it.
  script_->set({});
  clock_.advance(3600 * kSecond);
  EXPECT_EQ((*submission)->wait(after(0)).error().code, ErrorCode::kDeadline);
  EXPECT_EQ(capture_->replay().error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(capture_->commit().ok());
}

TEST_F(ScriptedDeviceTest, FailsAtAStepAndStaysFailed) {
  Behaviour behaviour;
  behaviour.fails_at_step = 1;
  script_->set(behaviour);
  auto submission = capture_->replay();
  ASSERT_TRUE(submission.ok());
  for (int i = 0; i < 2; ++i) {
    const Status status = (*submission)->wait(after(kSecond));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kDevice);
    EXPECT_EQ(status.error().context, "step 1");
  }
  ASSERT_TRUE(capture_->commit().ok());
  EXPECT_EQ(state_of(*capture_, "count"), (Values{0, 0}));
  script_->set({});
  run(*capture_);
  EXPECT_EQ(output_of(*capture_, "y"), (Values{2, 4}));
}

TEST_F(ScriptedDeviceTest, ALostDeviceIsGoneForEver) {
  Behaviour behaviour;
  behaviour.loses_device = true;
  script_->set(behaviour);
  auto submission = capture_->replay();
  ASSERT_TRUE(submission.ok());
  EXPECT_EQ((*submission)->wait(after(kSecond)).error().code, ErrorCode::kDeviceLost);
  script_->set({});
  EXPECT_EQ(capture_->replay().error().code, ErrorCode::kDeviceLost);
  MemoryWeights weights = builder_.weights();
  EXPECT_EQ(device_->record(builder_.program(), weights, {}).error().code, ErrorCode::kDeviceLost);
}

TEST_F(ScriptedDeviceTest, CorruptsASliceOfOneOutput) {
  Behaviour behaviour;
  behaviour.corruption = Corruption{"y", 1, 5};
  script_->set(behaviour);
  run(*capture_);
  const Values y = output_of(*capture_, "y");
  EXPECT_EQ(y[0], 2);
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST_F(ScriptedDeviceTest, RecordingCanFail) {
  script_->fail_records(1);
  MemoryWeights weights = builder_.weights();
  const auto failed = device_->record(builder_.program(), weights, {});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kDevice);
  record();
}

TEST_F(ScriptedDeviceTest, NonCoherentMemoryNeedsFlushAndInvalidate) {
  script_->set_non_coherent(true);
  const auto device = open_scripted_device(script_);
  EXPECT_EQ(device->capabilities().memory[0].coherent, Probed::kNo);
  ProgramBuilder builder;
  const TensorId frame = builder.frame("road");
  const TensorId matrix = builder.constant(DType::kFloat32, {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  builder.output(
      builder.op(
          OpKind::kWarp, {frame, matrix},
          {{"layout", std::string("luma")}, {"out_width", int64_t{2}}, {"out_height", int64_t{2}}},
          Phase::kWarp),
      "picture");
  CaptureOptions options;
  options.frames.push_back({"road", {2, 2, 2, 4, 6}, InputMode::kBind});
  MemoryWeights weights = builder.weights();
  auto capture = device->record(builder.program(), weights, options);
  ASSERT_TRUE(capture.ok()) << to_string(capture.error());
  std::vector<std::byte> pixels(6, std::byte{9});
  auto buffer = device->import_host(pixels);
  ASSERT_TRUE(buffer.ok());
  EXPECT_TRUE((*buffer)->needs_flush());
  ASSERT_TRUE((*capture)->bind(0, **buffer).ok());
  run(**capture);
  EXPECT_EQ(output_of(**capture, "picture"), (Values{0, 0, 0, 0})) << "not flushed yet";
  ASSERT_TRUE((*buffer)->flush().ok());
  run(**capture);
  EXPECT_EQ(output_of(**capture, "picture"), (Values{9, 9, 9, 9}));
}

}  // namespace
}  // namespace modeld::test
