// Tuning files, and programs under them.
#include "runtime/opencl/tuning.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "runtime/base/file.h"
#include "runtime/opencl/opencl_device.h"
#include "runtime/program/seeded_inputs.h"
#include "tests/support/program_builder.h"
#include "tests/support/temp_dir.h"

namespace modeld::opencl {
namespace {

using test::ProgramBuilder;
using Ints = std::vector<int64_t>;

const std::string kSignature = "0123456789abcdef0123456789abcdef";

DeviceInfo some_device() {
  DeviceInfo device;
  device.platform_name = "A platform";
  device.name = "A device";
  device.driver_version = "1.2";
  device.max_work_group = 256;
  return device;
}

Tuning one_entry() {
  Tuning tuning;
  tuning.set(kSignature, {8, 6, 2, 128, 32, 4}, "Conv_1 (tile)\nline");
  return tuning;
}

std::string lines(const std::string& third) {
  const std::string text = Tuning().text(some_device());
  return text + third + "\n";
}

TEST(Tuning, ComesBackAsItWasWritten) {
  const std::string text = one_entry().text(some_device());
  const auto back = Tuning::parse(text, some_device());
  ASSERT_TRUE(back.ok()) << to_string(back.error());
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ(*back->find(kSignature), (KernelShape{8, 6, 2, 128, 32, 4}));
  EXPECT_EQ(back->find("0123456789abcdef0123456789abcdee"), nullptr);
  EXPECT_EQ(back->text(some_device()), text);
}

TEST(Tuning, AnotherDeviceDriverOrVersionIsNamed) {
  const std::string text = one_entry().text(some_device());
  DeviceInfo newer = some_device();
  newer.driver_version = "1.3";
  const auto other = Tuning::parse(text, newer);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(to_string(other.error()).find("A device, 1.3"), std::string::npos);
  EXPECT_NE(to_string(other.error()).find("A device, 1.2"), std::string::npos);
  const auto version = Tuning::parse("modeld kernel tuning 2\n", some_device());
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code, ErrorCode::kUnsupported);
}

TEST(Tuning, HostileLinesAreRefusedByTheirNumber) {
  const std::vector<std::string> hostile = {kSignature + " 8 6 2 128 32",
                                            kSignature + " 8 6 2 128 32 4 4",
                                            "x 8 6 2 128 32 4",
                                            kSignature + " 8 6 2 128 32 x",
                                            kSignature + " 8 6 2 128 32 -4",
                                            kSignature + " 8 6 2 128 32 99999999999",
                                            std::string("\0\xff", 2)};
  for (const std::string& line : hostile) {
    const auto read = Tuning::parse(lines(line), some_device());
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt) << line;
    EXPECT_NE(to_string(read.error()).find("line 3"), std::string::npos) << to_string(read.error());
  }
  EXPECT_FALSE(Tuning::parse("", some_device()).ok());
  std::string many = Tuning().text(some_device());
  for (int i = 0; i < 10000; ++i) {
    const std::string digits = std::to_string(i);
    many += std::string(32 - digits.size(), '0') + digits + " 8 6 2 128 32 4\n";
  }
  EXPECT_FALSE(Tuning::parse(many, some_device()).ok());
}

TEST(Tuning, ShapesNoKernelCanHaveAreRefused) {
  const DeviceInfo device = some_device();
  EXPECT_TRUE(check_shape({8, 6, 2, 256, 256, 4}, device).ok());
  for (const KernelShape& shape : std::vector<KernelShape>{{5, 6, 2, 128, 32, 4},
                                                           {8, 0, 2, 128, 32, 4},
                                                           {8, 17, 2, 128, 32, 4},
                                                           {8, 6, 5, 128, 32, 4},
                                                           {8, 6, 2, 257, 32, 4},
                                                           {8, 6, 2, 128, 24, 4},
                                                           {8, 6, 2, 128, 512, 4},
                                                           {8, 6, 2, 128, 32, 0}}) {
    EXPECT_FALSE(check_shape(shape, device).ok()) << to_string(shape);
    std::string text = Tuning().text(device) + kSignature;
    for (const uint32_t number : {shape.vector, shape.tile_rows, shape.tile_vectors, shape.group,
                                  shape.reduce_group, shape.vectors_per_item}) {
      text += " " + std::to_string(number);
    }
    EXPECT_FALSE(Tuning::parse(text, device).ok()) << to_string(shape);
  }
}

TEST(Tuning, FilesOthersCouldHaveWrittenAreRefused) {
  const test::TempDir folder;
  const auto path = tuning_file(folder.path());
  EXPECT_EQ(Tuning::load(path, some_device()).error().code, ErrorCode::kNotFound);
  const std::string text = one_entry().text(some_device());
  ASSERT_TRUE(write_file_atomically(path, std::as_bytes(std::span(text))).ok());
  EXPECT_TRUE(Tuning::load(path, some_device()).ok());
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(Tuning::load(path, some_device()).error().code, ErrorCode::kRefused);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/etc/passwd", path);
  EXPECT_EQ(Tuning::load(path, some_device()).error().code, ErrorCode::kRefused);
}

// A convolution, a product and a softmax.
ProgramBuilder network() {
  ProgramBuilder builder;
  const TensorId x = builder.input("x", {DType::kFloat32, {1, 8, 12, 20}});
  std::vector<double> weights(24 * 8 * 9);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 17) / 17 - 0.5;
  const TensorId w =
      builder.constant(test::make_tensor(DType::kFloat32, {24, 8, 3, 3}, std::span(weights)));
  const TensorId y = builder.op(OpKind::kConv, {x, w},
                                {{"strides", Ints{1, 1}},
                                 {"pads", Ints{0, 0, 0, 0}},
                                 {"dilations", Ints{1, 1}},
                                 {"group", int64_t{1}}});
  builder.output(builder.op(OpKind::kSoftmax, {y}, {{"axis", int64_t{3}}}), "y");
  return builder;
}

TEST(Tuning, TunedOpsAnswerTheSameAndSaySo) {
  const ProgramBuilder builder = network();
  const Program program = builder.program();
  std::vector<std::vector<float>> answers;
  for (const bool tuned : {false, true}) {
    OpenOptions options;
    options.wish.software = true;
    options.tuning.emplace();
    if (tuned) {
      options.tuning->set(op_signature(program, program.ops[0]), {4, 3, 1, 1, 1, 1}, "Conv");
    }
    auto device = open_device(options);
    if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << to_string(device.error());
    MemoryWeights weights = builder.weights();
    auto capture = (*device)->record(program, weights, {});
    ASSERT_TRUE(capture.ok()) << to_string(capture.error());
    fill_seeded((*capture)->staging(0), DType::kFloat32, 3, 0, 0);
    auto submission = (*capture)->replay();
    ASSERT_TRUE(submission.ok());
    ASSERT_TRUE((*submission)->wait(Deadline::after(Clock::real(), 60 * kSecond)).ok());
    const auto bytes = (*capture)->output(0);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    answers.push_back(std::move(values));
    const auto steps = opencl_steps(**capture);
    EXPECT_EQ(steps[0].how.ends_with(", tuned"), tuned) << steps[0].how;
    EXPECT_FALSE(steps.back().how.ends_with(", tuned"));
  }
  ASSERT_EQ(answers[0].size(), answers[1].size());
  for (size_t i = 0; i < answers[0].size(); ++i) {
    ASSERT_NEAR(answers[0][i], answers[1][i], 1e-6) << i;
  }
}

TEST(Tuning, SignaturesTellOpsApart) {
  const Program one = network().program();
  EXPECT_EQ(op_signature(one, one.ops[0]), op_signature(one, one.ops[0]));
  EXPECT_NE(op_signature(one, one.ops[0]), op_signature(one, one.ops[1]));
  Program other = one;
  other.ops[0].attributes.set("group", int64_t{2});
  EXPECT_NE(op_signature(one, one.ops[0]), op_signature(other, other.ops[0]));
  other = one;
  other.tensors[other.ops[0].inputs[0]].type.shape[2] = 13;
  EXPECT_NE(op_signature(one, one.ops[0]), op_signature(other, other.ops[0]));
}

TEST(Tuning, AFileThatDoesNotFitLeavesTheDefaults) {
  const test::TempDir folder;
  const std::string text = one_entry().text(some_device());  // another device's
  ASSERT_TRUE(
      write_file_atomically(tuning_file(folder.path()), std::as_bytes(std::span(text))).ok());
  OpenOptions options;
  options.wish.software = true;
  options.kernel_folder = folder.path();
  auto device = open_device(options);
  if (!device.ok()) GTEST_SKIP() << "no OpenCL device: " << to_string(device.error());
  const ProgramBuilder builder = network();
  MemoryWeights weights = builder.weights();
  auto capture = (*device)->record(builder.program(), weights, {});
  ASSERT_TRUE(capture.ok());
  for (const StepInfo& step : opencl_steps(**capture)) {
    EXPECT_FALSE(step.how.ends_with(", tuned"));
  }
}

}  // namespace
}  // namespace modeld::opencl
