// Whole networks through the compiler and the reference backend: the samples with the shipped
// pipelines, references and all (what a user's first compile does), and what the real monitoring
// networks say about an empty picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "runtime/reference/reference_device.h"
#include "tests/compile/model_runner.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"
#include "tools/compile/compile.h"
#include "tools/compile/constant.h"
#include "tools/samples/sample_network.h"
#include "warp/calibration.h"

namespace modeld::compile {
namespace {

using samples::SampleKind;

Model compiled_sample(SampleKind kind, const std::string& pipeline) {
  const test::TempDir folder;
  const auto path = folder / "sample.onnx";
  EXPECT_TRUE(samples::write_sample(kind, path).ok());
  CompileOptions options;
  options.pipeline =
      std::filesystem::path(MODELD_SOURCE_ROOT) / "config/pipelines" / (pipeline + ".toml");
  auto compiled = compile_onnx(path, options);
  EXPECT_TRUE(compiled.ok()) << to_string(compiled.error());
  return compiled.ok() ? std::move(compiled->model) : Model{};
}

// Every slice, padding included, moves with the picture.
void expect_varying_slices(const Model& model, size_t slices) {
  ASSERT_EQ(model.contract.outputs.size(), 1u);
  EXPECT_EQ(model.contract.outputs[0].slices.size(), slices);
  for (const OutputSlice& slice : model.contract.outputs[0].slices) {
    EXPECT_TRUE(slice.varies) << slice.name;
    ASSERT_EQ(slice.tolerances.size(), 3u) << slice.name;
    // An offset of a half on any number must be found.
    EXPECT_LT(slice.tolerances[0].absolute, 0.5) << slice.name;
  }
  EXPECT_EQ(model.contract.references.size(), 2u);
}

bool has_kind(const Model& model, OpKind kind) {
  return std::any_of(model.program.ops.begin(), model.program.ops.end(),
                     [&](const Op& op) { return op.kind == kind; });
}

// 15 heads (facts 4.3).
TEST(Samples, Driving) {
  const Model model = compiled_sample(SampleKind::kDriving, "driving");
  expect_varying_slices(model, 15);
  EXPECT_EQ(model.contract.states.size(), 5u);
  EXPECT_FALSE(has_kind(model, OpKind::kBatchNormalization));
  EXPECT_FALSE(has_kind(model, OpKind::kErf));
}

TEST(Samples, DrivingStateful) {
  const Model model = compiled_sample(SampleKind::kDrivingStateful, "driving_stateful");
  expect_varying_slices(model, 15);
  EXPECT_EQ(model.contract.states.size(), 5u);
}

TEST(Samples, Monitoring) {
  const Model model = compiled_sample(SampleKind::kMonitoring, "monitoring");
  ASSERT_EQ(model.contract.outputs.size(), 1u);
  EXPECT_NE(model.contract.outputs[0].find_slice("face_descs_lhd"), nullptr);
  EXPECT_TRUE(model.contract.outputs[0].find_slice("face_descs_lhd")->varies);
  EXPECT_TRUE(model.contract.states.empty());
  EXPECT_EQ(model.contract.references.at(0).steps, 1u);
}

// The probability of a face in flat grey, which is all zeros for these networks.
double face_in_grey(const std::string& name) {
  CompileOptions options;
  options.make_references = false;
  const auto compiled = compile_onnx(test::shared_path("data/models/" + name + ".onnx"), options);
  EXPECT_TRUE(compiled.ok()) << to_string(compiled.error());
  if (!compiled.ok()) return -1;
  test::ModelRunner runner(compiled->model);
  HostTensor grey{{DType::kFloat32, {1, 6, 320, 160}}, {}};
  grey.bytes.resize(grey.type.bytes());
  return to_doubles(runner.run({{"input_img", grey}}).at("outputs"))[12];
}

// The same through the shipped pipeline: a grey picture of the whole cabin.
double face_in_grey_cabin(const std::string& name) {
  CompileOptions options;
  options.make_references = false;
  options.pipeline =
      std::filesystem::path(MODELD_SOURCE_ROOT) / "config/pipelines/monitoring_2021.toml";
  const auto compiled = compile_onnx(test::shared_path("data/models/" + name + ".onnx"), options);
  EXPECT_TRUE(compiled.ok()) << to_string(compiled.error());
  if (!compiled.ok()) return -1;
  const OutputSlice* face = compiled->model.contract.outputs[0].find_slice("face_prob");
  EXPECT_NE(face, nullptr);
  EXPECT_EQ(face->start, 12);
  const auto device = open_reference_device();
  CaptureOptions frames;
  const auto layout = Nv12Layout::openpilot(1928, 1208);
  frames.frames.push_back({"cabin", *layout, InputMode::kUpload});
  const auto capture = device->record(compiled->model.program, *compiled->model.weights, frames);
  EXPECT_TRUE(capture.ok()) << to_string(capture.error());
  for (size_t i = 0; i < (*capture)->inputs().size(); ++i) {
    const auto staging = (*capture)->staging(i);
    if ((*capture)->inputs()[i].name == "cabin") {
      std::fill(staging.begin(), staging.end(), std::byte{128});
    } else {
      const Matrix3f matrix = to_float(portrait_matrix(cabin_cameras_by_width(1928).cabin, false));
      std::memcpy(staging.data(), matrix.m.data(), sizeof(matrix.m));
    }
  }
  auto submission = (*capture)->replay();
  EXPECT_TRUE(submission.ok());
  EXPECT_TRUE((*submission)->wait(Deadline::after(Clock::real(), 600 * kSecond)).ok());
  float value = 0;
  std::memcpy(&value, (*capture)->output(0).data() + 12 * sizeof(float), sizeof value);
  return value;
}

TEST(RealNetworks, OldMonitoringNetworksThroughTheirPipeline) {
  MODELD_NEED_SHARED("data/models/dm-2021-08.onnx");
  EXPECT_NEAR(face_in_grey_cabin("dm-2021-06"), 0.000, 0.0006);
  EXPECT_NEAR(face_in_grey_cabin("dm-2021-08"), 0.17, 0.006);
}

// Facts, test material: 0.000 and 0.17; the second network has its normalisation not folded.
TEST(RealNetworks, FaceProbabilityOfAnEmptyPicture) {
  MODELD_NEED_SHARED("data/models/dm-2021-08.onnx");
  EXPECT_NEAR(face_in_grey("dm-2021-06"), 0.000, 0.0006);
  EXPECT_NEAR(face_in_grey("dm-2021-08"), 0.17, 0.006);
}

}  // namespace
}  // namespace modeld::compile
