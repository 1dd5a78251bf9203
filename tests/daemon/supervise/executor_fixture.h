// Executors with the tiny model on a device that hangs, dies or lies when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "daemon/supervise/executor_device.h"
#include "tests/daemon/supervise/hanging_device.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {

using supervise::ExecutorDevice;
using supervise::ExecutorKind;
using supervise::Spawner;

constexpr Nanoseconds kPatience = 60 * kSecond;  // for a loaded machine

inline Deadline soon() {
  return Deadline::after(Clock::real(), kPatience);
}

inline Nv12Layout layout() {
  return *Nv12Layout::openpilot(1344, 760);
}

inline CaptureOptions framed(InputMode mode = InputMode::kUpload) {
  CaptureOptions options;
  options.frames = {{"camera", layout(), mode}};
  return options;
}

inline void stage(Capture& capture, size_t input, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  ASSERT_EQ(capture.staging(input).size(), bytes.size());
  std::memcpy(capture.staging(input).data(), bytes.data(), bytes.size());
}

constexpr std::array<float, 9> kMatrix = {40, 0, 100, 0, 40, 100, 0, 0, 1};

inline void stage_picture(std::span<std::byte> to, uint32_t seed) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = std::byte((i * 31 + seed * 17) >> 3 & 0xff);
}

inline std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() {
    auto* const switches = &*switches_;
    supervise::ExecutorOptions options;
    options.open = [switches](ExecutorKind kind) { return open_hanging_work(*switches, kind); };
    auto started = Spawner::start([options](supervise::ExecutorStart start) {
      return supervise::run_executor(std::move(start), options);
    });
    EXPECT_TRUE(started.ok());
    spawner_ = std::move(started).value();
  }

  ExecutorDevice::Options options(ExecutorKind kind = ExecutorKind::kPrimary) {
    ExecutorDevice::Options made;
    made.kind = kind;
    made.digest = "digest";
    made.mirror_states = kind == ExecutorKind::kPrimary;
    made.deadlines = deadlines_;
    return made;
  }
  std::unique_ptr<ExecutorDevice> open(ExecutorKind kind = ExecutorKind::kPrimary) {
    auto opened = ExecutorDevice::open(*spawner_, options(kind));
    EXPECT_TRUE(opened.ok()) << to_string(opened.error());
    return std::move(opened).value();
  }
  std::unique_ptr<Capture> record(Device& device, InputMode mode = InputMode::kUpload) {
    const Model model = tiny_model();
    auto capture = device.record(model.program, *model.weights, framed(mode));
    EXPECT_TRUE(capture.ok()) << to_string(capture.error());
    return std::move(capture).value();
  }
  // One frame, not committed.
  Status run(Capture& capture, uint32_t seed, Deadline deadline = soon()) {
    if (!capture.staging(0).empty()) stage_picture(capture.staging(0), seed);
    stage(capture, 1, kMatrix);
    stage(capture, 2, std::vector<float>(4, static_cast<float>(seed)));
    MODELD_ASSIGN(Submission* const submission, capture.replay());
    return submission->wait(deadline);
  }

  SharedSwitches switches_;
  supervise::ExecutorDeadlines deadlines_{kPatience, kPatience, kPatience};
  std::unique_ptr<Spawner> spawner_;
};

}  // namespace modeld::test
