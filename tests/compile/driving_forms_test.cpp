// One driving network in the three forms it has been given, through the shipped pipelines: whole
// with its histories outside (D, E), whole with them inside (F), and in two halves (B, C). Equal
// weights and equal frames must give equal answers, whatever carries the history.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "runtime/device/backends.h"
#include "runtime/program/seeded_inputs.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"
#include "tools/compile/compile.h"
#include "tools/samples/sample_network.h"

namespace modeld::compile {
namespace {

using samples::SampleKind;
using test::must;

constexpr size_t kFrames = 150;

Model compiled(const std::filesystem::path& onnx, const std::string& pipeline) {
  CompileOptions options;
  options.make_references = false;
  options.pipeline =
      std::filesystem::path(MODELD_SOURCE_ROOT) / "config/pipelines" / (pipeline + ".toml");
  return must(compile_onnx(onnx, options)).model;
}

// What the daemon would put into an input in frame `frame`.
void stage(const Slot& slot, std::span<std::byte> staging, uint32_t frame) {
  if (slot.name.ends_with("road")) {
    // Another picture every frame, another one for each camera.
    fill_seeded(staging, DType::kUInt8, slot.name == "wide_road" ? 2 : 1, 0, frame);
    return;
  }
  std::vector<float> values;
  if (slot.name.ends_with("_transform")) values = {2.6f, 0, 3, 0, 2.9f, 5, 0, 0, 1};
  if (slot.name == "traffic_convention") values = {0, 1};
  if (slot.name == "action_t") values = {0.25f + static_cast<float>(frame) / 512, 0.5f};
  if (slot.name == "desire_pulse") {
    values.assign(8, 0);
    if (frame % 7 == 2) values[1 + frame % 6] = 1;
  }
  ASSERT_EQ(staging.size(), values.size() * sizeof(float)) << slot.name;
  std::memcpy(staging.data(), values.data(), staging.size());
}

// A model that runs frame by frame and tells its answer by head.
class Form {
 public:
  explicit Form(Model model) : model_(std::move(model)), device_(must(open_backend("cpu"))) {
    CaptureOptions options;
    for (const CameraContract& camera : model_.contract.cameras) {
      options.frames.push_back(
          {camera.frame_input, must(Nv12Layout::openpilot(1344, 760)), InputMode::kUpload});
    }
    capture_ = must(device_->record(model_.program, *model_.weights, options));
  }

  using Heads = std::map<std::string, std::vector<float>>;
  Heads run(uint32_t frame) {
    for (size_t i = 0; i < capture_->inputs().size(); ++i) {
      stage(capture_->inputs()[i], capture_->staging(i), frame);
    }
    must(must(capture_->replay())->wait(Deadline::after(Clock::real(), 300 * kSecond)));
    Heads heads;
    for (size_t i = 0; i < model_.contract.outputs.size(); ++i) {
      std::vector<float> all(capture_->output(i).size() / sizeof(float));
      std::memcpy(all.data(), capture_->output(i).data(), all.size() * sizeof(float));
      for (const OutputSlice& slice : model_.contract.outputs[i].slices) {
        heads[slice.name].assign(all.begin() + slice.start, all.begin() + slice.stop);
      }
    }
    must(capture_->commit());
    return heads;
  }

 private:
  Model model_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Capture> capture_;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    // Written so that NaN is large.
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

TEST(DrivingForms, EqualAnswersOverTheWholeHistory) {
  const test::TempDir folder;
  must(samples::write_sample(SampleKind::kDriving, folder / "driving.onnx"));
  must(samples::write_sample(SampleKind::kDrivingStateful, folder / "stateful.onnx"));
  must(samples::write_sample(SampleKind::kDrivingVision, folder / "driving_vision.onnx"));
  must(samples::write_sample(SampleKind::kDrivingPolicy, folder / "driving_policy.onnx"));
  Form whole(compiled(folder / "driving.onnx", "driving"));
  Form stateful(compiled(folder / "stateful.onnx", "driving_stateful"));
  Form split(compiled(folder / "driving_vision.onnx", "driving_split"));
  Form::Heads before;
  double apart = 0;
  double moved = 0;
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    SCOPED_TRACE("frame " + std::to_string(frame));
    const auto expected = whole.run(frame);
    ASSERT_EQ(expected.size(), 15u);
    for (Form* const form : {&stateful, &split}) {
      const auto found = form->run(frame);
      ASSERT_EQ(found.size(), 15u);
      for (const auto& [head, values] : expected) {
        const double difference = largest_difference(values, found.at(head));
        apart = std::max(apart, difference);
        // float32 sums in another order may round a float16 feature another way.
        ASSERT_LE(difference, 2e-3) << head;
      }
    }
    if (frame > 0) moved = std::max(moved, largest_difference(expected.at("plan"), before["plan"]));
    before = expected;
  }
  EXPECT_GT(moved, 0.05) << "a network that says the same of every picture proves nothing";
  std::printf("largest difference between the forms %g, from frame to frame up to %g\n", apart,
              moved);
}

}  // namespace
}  // namespace modeld::compile
