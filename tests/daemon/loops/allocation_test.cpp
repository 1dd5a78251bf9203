// The steady state allocates nothing: upload, replay, validate, parse, commit, fill, health.
#include <gtest/gtest.h>

#include "daemon/health/health_publisher.h"
#include "tests/daemon/support/driving_bench.h"
#include "tests/support/allocation_counter.h"

namespace modeld::test {
namespace {

class SteadyState : public testing::TestWithParam<FrameInput> {};

TEST_P(SteadyState, HundredFramesAllocateNothing) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer replaces malloc";
  BenchOptions options;
  options.mode = GetParam();
  options.raw_predictions = true;  // the most there is to write
  DrivingBench bench(options);
  HealthPublisher publisher(*bench.transport.publisher("modeldHealth"), bench.clock, 2);
  const auto frame = [&](uint32_t id) {
    bench.send_pair(id, id);
    const uint64_t before = allocation_count();
    bool good = bench.run_once().ok();
    bench.loop->refresh_health();
    good = publisher.publish_if_due(bench.health).ok() && good;
    EXPECT_TRUE(good);
    return allocation_count() - before;
  };
  // Every buffer of the ring once, and the first of every message.
  for (uint32_t id = 1; id <= 20; ++id) frame(id);
  bench.model_v2();
  bench.driving_model_data();
  bench.camera_odometry();
  // Queues of subscribers take memory for messages nobody has read yet: the bench drops them.
  bench.stop_listening();
  uint64_t made = 0;
  for (uint32_t id = 21; id <= 120; ++id) made += frame(id);
  EXPECT_EQ(made, 0u);
  EXPECT_EQ(bench.health.frames.valid, 120u);
  EXPECT_GE(publisher.sent(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Modes, SteadyState,
                         testing::Values(FrameInput::kUpload, FrameInput::kZeroCopy),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

}  // namespace
}  // namespace modeld::test
