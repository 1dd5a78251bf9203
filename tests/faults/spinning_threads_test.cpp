// Field fault 18: threads that wait for the next frame must not take a core.
#include <gtest/gtest.h>
#include <time.h>

#include "runtime/cpu/cpu_device.h"
#include "tests/support/program_builder.h"

namespace modeld::test {
namespace {

constexpr Nanoseconds kPeriod = 50 * kMillisecond;
constexpr int kFrames = 24;

Nanoseconds process_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return Nanoseconds{now.tv_sec} * kSecond + now.tv_nsec;
}

// Some two milliseconds of arithmetic in several steps, so that the threads meet.
ProgramBuilder fake_model() {
  ProgramBuilder builder;
  constexpr int64_t kSize = 320;
  std::vector<float> weights(kSize * kSize, 0.01f);
  const TensorId matrix =
      builder.constant({DType::kFloat32, {kSize, kSize}}, std::as_bytes(std::span(weights)));
  TensorId x = builder.input("x", {DType::kFloat32, {kSize, kSize}});
  for (int i = 0; i < 4; ++i)
    x = builder.op(OpKind::kTanh, {builder.op(OpKind::kMatMul, {x, matrix})});
  builder.output(x, "y");
  return builder;
}

TEST(FieldFault18, TwentyHertzCostsWhatTheModelComputesAndNoMore) {
  // openpilot's own bar: 22 % of one core for modeld, failing above 1.8 times that. The part that
  // does not compute may take a quarter of the bar.
  constexpr double kWaitingShare = 0.22 / 4;
  for (const uint32_t threads : {1u, 2u}) {
    const ProgramBuilder builder = fake_model();
    BackendOptions backend;
    backend.threads = threads;
    const auto device = open_cpu_device(backend);
    MemoryWeights weights = builder.weights();
    CaptureOptions options;
    options.threads = threads;
    auto capture = device->record(builder.program(), weights, options);
    ASSERT_TRUE(capture.ok()) << to_string(capture.error());
    const auto replay = [&] {
      auto submission = (*capture)->replay();
      ASSERT_TRUE(submission.ok());
      ASSERT_TRUE((*submission)->wait(Deadline::after(Clock::real(), 10 * kSecond)).ok());
    };
    // What the arithmetic costs, without a pause between frames: nobody waits for anything but the
    // other members.
    for (int i = 0; i < 5; ++i) replay();
    Nanoseconds before = process_time();
    for (int i = 0; i < kFrames; ++i) replay();
    const Nanoseconds computing = process_time() - before;

    before = process_time();
    const Nanoseconds begin = Clock::real().monotonic();
    for (int i = 1; i <= kFrames; ++i) {
      replay();
      const Nanoseconds until = begin + i * kPeriod;
      const timespec at{until / kSecond, until % kSecond};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
      }
    }
    const Nanoseconds paced = process_time() - before;
    // Caches are cold after a pause: the arithmetic itself may cost half as much again.
    const double share = static_cast<double>(paced) / (kFrames * kPeriod);
    const double arithmetic = 1.5 * static_cast<double>(computing) / (kFrames * kPeriod);
    EXPECT_LT(share, arithmetic + kWaitingShare)
        << threads << " threads: computing " << computing / kFrames << " ns a frame, paced "
        << paced / kFrames << " ns";
    RecordProperty("share_percent_" + std::to_string(threads) + "_threads",
                   std::to_string(100 * share));
  }
}

}  // namespace
}  // namespace modeld::test
