// Faults planted between a real backend and the self-test: each must be found.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "runtime/device/backends.h"
#include "runtime/selftest/self_test.h"
#include "tests/support/must.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"
#include "tools/compile/compile.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

constexpr size_t kPicture = 0;  // output picture f32[1,4,8,8]
constexpr size_t kMemory = 1;   // output memory f32[1,4]
constexpr size_t kChannel = 64;

std::vector<double> weights() {
  std::vector<double> values;
  for (int i = 0; i < 4 * 3 * 3 * 3; ++i) values.push_back(0.05 * ((i * 7) % 13 - 6));
  return values;
}

// A convolution, and a memory of two numbers per channel that forgets by half: memory = its mean
// over the picture plus half of what it was.
Model make_model() {
  OnnxBuilder onnx;
  onnx.input("x", DType::kFloat32, {1, 3, 8, 8});
  onnx.input("state_fast", DType::kFloat32, {1, 4}).input("state_slow", DType::kFloat32, {1, 4});
  onnx.constant("w", make_tensor(DType::kFloat32, {4, 3, 3, 3}, weights()));
  onnx.floats("half", {}, {0.5}).floats("most", {}, {0.9});
  onnx.node("Conv", {"x", "w"}, {"picture"}).with("pads", {1, 1, 1, 1});
  onnx.node("GlobalAveragePool", {"picture"}, {"pooled"});
  onnx.node("Flatten", {"pooled"}, {"now"});
  onnx.node("Mul", {"state_fast", "half"}, {"f"});
  onnx.node("Add", {"f", "now"}, {"next_state_fast"});
  onnx.node("Mul", {"state_slow", "most"}, {"s"});
  onnx.node("Add", {"s", "now"}, {"next_state_slow"});
  onnx.node("Add", {"next_state_fast", "next_state_slow"}, {"memory"});
  for (const char* name : {"picture", "memory", "next_state_fast", "next_state_slow"}) {
    onnx.output(name);
  }
  const TempDir folder;
  return must(compile::compile_onnx(onnx.save(folder / "m.onnx"))).model;
}

using Floats = std::span<float>;

struct Fault {
  // What becomes of output `index` of replay number `replay`.
  std::function<void(size_t index, size_t replay, Floats values)> outputs = nullptr;
  std::optional<size_t> stale_state = std::nullopt;  // which state a commit leaves as it was
};

// Passes everything on to a backend's capture, but for the fault.
class FaultyCapture final : public Capture {
 public:
  FaultyCapture(std::unique_ptr<Capture> inner, Fault fault)
      : inner_(std::move(inner)), fault_(std::move(fault)), spoiled_(inner_->outputs().size()) {}

  std::span<const Slot> inputs() const override { return inner_->inputs(); }
  std::span<const Slot> outputs() const override { return inner_->outputs(); }
  std::span<const Slot> states() const override { return inner_->states(); }
  std::span<std::byte> staging(size_t input) override { return inner_->staging(input); }
  Status bind(size_t input, Buffer& buffer) override { return inner_->bind(input, buffer); }
  Result<Submission*> replay() override {
    ++replays_;
    return inner_->replay();
  }
  std::span<const std::byte> output(size_t index) const override {
    const auto bytes = inner_->output(index);
    std::vector<float>& values = spoiled_[index];
    values.resize(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    if (fault_.outputs) fault_.outputs(index, replays_ - 1, values);
    return std::as_bytes(std::span(values));
  }
  Status commit() override {
    if (!fault_.stale_state) return inner_->commit();
    std::vector<std::byte> before(states()[*fault_.stale_state].bytes);
    MODELD_TRY(inner_->read_state(*fault_.stale_state, before));
    MODELD_TRY(inner_->commit());
    return inner_->write_state(*fault_.stale_state, before);
  }
  Status reset_state() override { return inner_->reset_state(); }
  Status read_state(size_t state, std::span<std::byte> out) const override {
    return inner_->read_state(state, out);
  }
  Status write_state(size_t state, std::span<const std::byte> bytes) override {
    return inner_->write_state(state, bytes);
  }

 private:
  std::unique_ptr<Capture> inner_;
  Fault fault_;
  mutable std::vector<std::vector<float>> spoiled_;
  size_t replays_ = 0;
};

SelfTestReport test_with(const Fault& fault, uint32_t repeats = 3) {
  static const Model model = make_model();
  const auto device = must(open_backend("cpu"));
  FaultyCapture capture(must(device->record(model.program, *model.weights, {})), fault);
  SelfTestOptions options;
  options.repeats = repeats;
  return must(run_self_test(capture, model.contract, DeviceClass::kCpu, options));
}

TEST(PlantedFault, NoneIsFoundWhereThereIsNone) {
  const SelfTestReport report = test_with({});
  EXPECT_TRUE(report.passed) << describe_failure(report);
  EXPECT_EQ(report.slices.size(), 4u);  // two outputs, two seeds
  for (const SliceResult& slice : report.slices) EXPECT_EQ(slice.wrong_elements, 0);
}

TEST(PlantedFault, AZeroedSliceIsConstant) {
  const SelfTestReport report = test_with({[](size_t index, size_t, Floats values) {
    if (index == kPicture) std::fill(values.begin(), values.end(), 0.0f);
  }});
  EXPECT_FALSE(report.passed);
  EXPECT_THAT(describe_failure(report), HasSubstr("'picture' is constant"));
}

TEST(PlantedFault, OneNanIsLocated) {
  const SelfTestReport report = test_with({[](size_t index, size_t, Floats values) {
    if (index == kPicture) values[77] = std::numeric_limits<float>::quiet_NaN();
  }});
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.slices[0].wrong_elements, 1);
  EXPECT_EQ(report.slices[0].worst_element, 77);
  EXPECT_THAT(describe_failure(report), HasSubstr("found nan"));
}

TEST(PlantedFault, AnOffsetOfAHalfIsOutsideTolerance) {
  for (const size_t output : {kPicture, kMemory}) {
    const SelfTestReport report = test_with({[&](size_t index, size_t, Floats values) {
      if (index != output) return;
      for (float& value : values) value += 0.5f;
    }});
    EXPECT_FALSE(report.passed) << output;
    EXPECT_EQ(report.slices[output].wrong_elements, output == kPicture ? 4 * 64 : 4);
    EXPECT_NEAR(report.slices[output].difference, 0.5, 1e-3);
  }
}

TEST(PlantedFault, TwoSwappedChannelsAreOutsideTolerance) {
  const SelfTestReport report = test_with({[](size_t index, size_t, Floats values) {
    if (index != kPicture) return;
    std::swap_ranges(values.begin() + kChannel, values.begin() + 2 * kChannel,
                     values.begin() + 2 * kChannel);
  }});
  EXPECT_FALSE(report.passed);
  EXPECT_GT(report.slices[0].wrong_elements, 64);
  EXPECT_GE(report.slices[0].worst_element, 64);
  EXPECT_LT(report.slices[0].worst_element, 192);
  EXPECT_THAT(describe_failure(report), HasSubstr("'picture' is outside tolerance"));
}

TEST(PlantedFault, AStaleStateIsOutsideTolerance) {
  for (const size_t state : {0, 1}) {
    const SelfTestReport report = test_with({nullptr, state});
    EXPECT_FALSE(report.passed) << state;
    for (const SliceResult& slice : report.slices)
      EXPECT_EQ(slice.passed, slice.output != "memory");
  }
}

// A fault that comes once in a hundred runs: three see nothing, the long test finds it.
TEST(PlantedFault, OneBadRunInAHundredIsFoundAndBoxed) {
  const Fault fault{[](size_t index, size_t replay, Floats values) {
    // Vectors are three frames long; the last frame of run 57.
    if (index == kPicture && replay == 57 * 3 + 2) values[130] += 1e-6f;
  }};
  EXPECT_TRUE(test_with(fault, 3).passed);
  const SelfTestReport report = test_with(fault, 100);
  EXPECT_FALSE(report.passed);
  ASSERT_EQ(report.unsteady.size(), 1u);
  EXPECT_EQ(report.unsteady[0].output, "picture");
  EXPECT_EQ(report.unsteady[0].distinct, 2u);
  EXPECT_EQ(report.unsteady[0].first, (std::vector<int64_t>{0, 2, 0, 2}));
  EXPECT_EQ(report.unsteady[0].last, (std::vector<int64_t>{0, 2, 0, 2}));
}

}  // namespace
}  // namespace modeld::test
