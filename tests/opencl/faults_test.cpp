// Every OpenCL call fails in turn: one error with its cause, nothing left behind, no hang.
#include <gtest/gtest.h>

#include "runtime/opencl/opencl_device.h"
#include "tests/support/cl_layer.h"
#include "tests/support/program_builder.h"

namespace modeld::opencl {
namespace {

using test::ClLayer;
using test::ProgramBuilder;

// An input, a state, an output, a kernel that may raise a flag, a constant.
ProgramBuilder small_program() {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {8}});
  const TensorId s = builder.state("s", {DType::kFloat32, {8}});
  const TensorId index = builder.input("index", {DType::kInt32, {2}});
  const TensorId table = builder.constant(DType::kFloat32, {2}, {1, 2});
  const TensorId sum = builder.op(OpKind::kAdd, {x, s});
  builder.feed_back(s, sum);
  builder.output(sum, "sum");
  builder.output(builder.op(OpKind::kGather, {table, index}, {{"axis", int64_t{0}}}), "row");
  return builder;
}

Deadline soon() {
  return Deadline::after(Clock::real(), 20 * kSecond);
}

// What a daemon does with a device, up to two frames; the first error, if any.
Status life_of_a_device() {
  OpenOptions options;
  options.wish.software = true;
  options.calls = &ClLayer::calls();
  MODELD_ASSIGN(const auto device, open_device(options));
  MODELD_ASSIGN(const auto buffer, device->allocate(100, 64));
  const std::vector<std::byte> bytes(100);
  MODELD_TRY(buffer->write(0, bytes));
  const ProgramBuilder builder = small_program();
  MemoryWeights weights = builder.weights();
  MODELD_ASSIGN(const auto capture, device->record(builder.program(), weights, {}));
  for (int frame = 0; frame < 2; ++frame) {
    const auto submission = capture->replay();
    if (!submission.ok()) {
      // Sticky: the next replay answers the same cause.
      const auto again = capture->replay();
      EXPECT_FALSE(again.ok());
      if (!again.ok()) {
        EXPECT_EQ(again.error().message, submission.error().message);
      }
      return submission.error();
    }
    MODELD_TRY((*submission)->wait(soon()));
    MODELD_TRY(capture->commit());
  }
  std::vector<std::byte> state(32);
  return capture->read_state(0, state);
}

class Faults : public testing::Test {
 protected:
  void SetUp() override { ClLayer::reset(); }
};

TEST_F(Faults, NothingIsLeftBehindWithoutOne) {
  const Status status = life_of_a_device();
  ASSERT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_EQ(ClLayer::live_objects(), 0);
  EXPECT_GT(ClLayer::count("EnqueueNDRangeKernel"), 0u);
}

TEST_F(Faults, EveryCallFailsInTurn) {
  ASSERT_TRUE(life_of_a_device().ok());
  const uint64_t calls = ClLayer::count();
  size_t refused = 0;
  for (uint64_t i = 0; i < calls; ++i) {
    ClLayer::reset();
    ClLayer::fail_call(i, CL_OUT_OF_RESOURCES);
    const Status status = life_of_a_device();
    const std::string function = ClLayer::failed();
    ASSERT_FALSE(function.empty()) << "call " << i;
    EXPECT_EQ(ClLayer::live_objects(), 0) << "call " << i << ", " << function;
    // What a device does not say is unknown, not an error; a release has nobody to tell.
    const bool asks = function.starts_with("Get") || function.starts_with("Release");
    if (status.ok()) continue;
    ++refused;
    if (asks) continue;
    EXPECT_NE(status.error().message.find("CL_OUT_OF_RESOURCES"), std::string::npos)
        << function << ": " << to_string(status.error());
    EXPECT_NE(status.error().message.find(function), std::string::npos)
        << function << ": " << to_string(status.error());
  }
  EXPECT_GT(refused, 20u);
}

// The device goes away at each kind of call a replay makes.
TEST_F(Faults, LossIsStickyAndSaysSo) {
  for (const char* function : {"EnqueueWriteBuffer", "EnqueueNDRangeKernel", "EnqueueReadBuffer",
                               "EnqueueMarkerWithWaitList", "SetEventCallback", "Flush"}) {
    ClLayer::reset();
    ASSERT_TRUE(life_of_a_device().ok());
    const uint64_t last = ClLayer::count(function) - 1;
    ClLayer::reset();
    // The last read is read_state's, which is no replay.
    const bool reads = std::string(function) == "EnqueueReadBuffer";
    ClLayer::fail_function(function, reads ? last - 1 : last, CL_DEVICE_NOT_AVAILABLE);
    const Status status = life_of_a_device();
    ASSERT_FALSE(status.ok()) << function;
    EXPECT_EQ(status.error().code, ErrorCode::kDeviceLost) << to_string(status.error());
    EXPECT_EQ(ClLayer::live_objects(), 0) << function;
  }
}

TEST_F(Faults, BuildFailureShowsTheLog) {
  ClLayer::fail_function("BuildProgram", 0, CL_BUILD_PROGRAM_FAILURE);
  const Status status = life_of_a_device();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kDevice);
  EXPECT_NE(status.error().message.find("CL_BUILD_PROGRAM_FAILURE"), std::string::npos);
}

}  // namespace
}  // namespace modeld::opencl
