// Field fault 14: copying both full frames over a slow link eats the budget. What travels, in both
// ways in and both sizes, counted; and a table of what it costs here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "daemon/engine/frame_runner.h"
#include "runtime/reference/reference_device.h"
#include "tests/daemon/support/fake_camera.h"
#include "tests/support/program_builder.h"

namespace modeld::test {
namespace {

constexpr int kFrames = 40;

// One warp per camera: the least a device does with a frame.
Model warping_model(size_t cameras) {
  ProgramBuilder builder;
  Model model;
  for (size_t i = 0; i < cameras; ++i) {
    const std::string number = std::to_string(i);
    const TensorId frame = builder.frame("frame" + number);
    const TensorId matrix = builder.input("matrix" + number, {DType::kFloat32, {3, 3}});
    const Attributes::Map attributes = {
        {"layout", std::string("luma")}, {"out_width", int64_t{512}}, {"out_height", int64_t{256}}};
    builder.output(builder.op(OpKind::kWarp, {frame, matrix}, attributes, Phase::kWarp),
                   "picture" + number);
    model.contract.inputs.push_back({"frame" + number, InputRole::kFrame, "", {DType::kNv12, {}}});
    model.contract.inputs.push_back(
        {"matrix" + number, InputRole::kTransform, "", {DType::kFloat32, {3, 3}}});
  }
  model.program = builder.program();
  model.weights = std::make_shared<MemoryWeights>(std::vector<std::byte>{});
  return model;
}

struct Cost {
  uint64_t bytes = 0;  // copied by the host per frame set
  std::vector<Nanoseconds> copies;
  std::vector<Nanoseconds> totals;
};

Cost measure(const Nv12Layout& layout, size_t cameras, FrameInput mode) {
  ManualClock camera_clock;
  std::vector<std::unique_ptr<FakeCamera>> sources;
  std::vector<std::unique_ptr<ipc::FrameStream>> streams;
  for (size_t i = 0; i < cameras; ++i) {
    sources.push_back(std::make_unique<FakeCamera>(layout, 4, camera_clock));
    streams.push_back(sources.back()->stream(true));
  }
  Engine engine(warping_model(cameras), open_reference_device(), CaptureOptions{});
  FrameRunner runner(engine, Clock::real(), 60 * kSecond);
  constexpr std::array<float, 9> kMatrix = {2, 0, 10, 0, 2, 10, 0, 0, 1};
  Cost cost;
  for (uint32_t id = 1; id <= kFrames; ++id) {
    std::vector<ipc::Frame> frames(cameras);
    std::vector<FrameRunner::Picture> pictures;
    std::vector<FrameRunner::Vector> vectors;
    for (size_t i = 0; i < cameras; ++i) {
      sources[i]->send(id, id * 50'000'000u, id);
      frames[i] = std::move(*streams[i]->receive(Deadline{0})).value();
      pictures.push_back({2 * i, streams[i].get(), &frames[i], mode});
      vectors.push_back({2 * i + 1, kMatrix});
    }
    FrameTimes times;
    const Nanoseconds begin = Clock::real().monotonic();
    const RunOutcome outcome = runner.run(pictures, vectors, times);
    cost.totals.push_back(Clock::real().monotonic() - begin);
    cost.copies.push_back(times[FramePhase::kUpload]);
    EXPECT_EQ(outcome.kind, RunOutcome::Kind::kCompleted) << runner.detail();
    cost.bytes = runner.copied_bytes();
  }
  EXPECT_EQ(runner.mode(), mode == FrameInput::kUpload ? InputMode::kUpload : InputMode::kBind);
  return cost;
}

void tell(const char* what, const Nv12Layout& layout, Cost& cost) {
  std::sort(cost.copies.begin(), cost.copies.end());
  std::sort(cost.totals.begin(), cost.totals.end());
  const auto ms = [](Nanoseconds time) { return static_cast<double>(time) / kMillisecond; };
  const size_t last = cost.totals.size() - 1;
  std::printf("%-24s %4ux%-4u %10.3f MB %8.3f ms %8.3f ms %8.3f ms\n", what, layout.width,
              layout.height, static_cast<double>(cost.bytes) / 1e6, ms(cost.copies[last / 2]),
              ms(cost.totals[last / 2]), ms(cost.totals[last * 99 / 100]));
}

TEST(FieldFault14, WhatTravelsIsWhatIsUsedAndTheTableSaysWhatItCosts) {
  std::printf("%-24s %9s %13s %11s %11s %11s\n", "way in", "size", "bytes moved", "copy p50",
              "end to end", "p99");
  for (const auto& [width, height] : {std::pair{1928u, 1208u}, std::pair{1344u, 760u}}) {
    const Nv12Layout layout = *Nv12Layout::openpilot(width, height);
    Cost both = measure(layout, 2, FrameInput::kUpload);
    Cost cabin = measure(layout, 1, FrameInput::kZeroCopy);
    // The rows of luma and chroma, not the tail of the buffer: the facts' copy size (6.5).
    EXPECT_EQ(both.bytes, 2 * (width == 1928 ? 3735552u : 1622016u));
    EXPECT_LT(both.bytes, 2 * layout.length);
    EXPECT_EQ(cabin.bytes, 0u);
    tell("both frames, upload", layout, both);
    tell("one frame, zero copy", layout, cabin);
  }
}

}  // namespace
}  // namespace modeld::test
