// The self-test against a device that is right, and against every way of being wrong.
#include "runtime/selftest/self_test.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/selftest/fake_capture.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

constexpr uint32_t kSteps = 2;
const TensorType kOutput{DType::kFloat32, {2, 3}};

std::vector<std::byte> to_bytes(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Two slices: "varying" (elements 0..3) and "fixed" (4, 5), whose value may be constant.
const std::vector<std::vector<float>> kExpected = {{1, -2, 3, 100, 7, 7}, {4, 5, -6, 200, 7, 7}};

Contract make_contract() {
  Contract contract;
  contract.inputs = {{"x", InputRole::kVector, "", {DType::kFloat32, {4}}}};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  contract.outputs = {
      {"y",
       kOutput,
       {{"varying", 0, 4, -kInfinity, kInfinity, true, {{DeviceClass::kCpu, 0.01, 0.001}}},
        {"fixed", 4, 6, -kInfinity, kInfinity, false, {{DeviceClass::kCpu, 0.01, 0}}}}}};
  contract.references = {{11, kSteps, {to_bytes(kExpected[0])}},
                         {12, kSteps, {to_bytes(kExpected[1])}}};
  return contract;
}

// What a device does to the right answer: (which vector, which repeat, values).
using Corrupt = std::function<void(size_t vector, size_t repeat, std::vector<float>& values)>;

// Answers the expected values on the last step of a vector and rubbish before.
FakeCapture make_device(uint32_t repeats, Corrupt corrupt) {
  const auto answer = [=](size_t replay, size_t commits, const auto&) {
    const size_t run = replay / kSteps;
    std::vector<float> values(6, -1);
    if (commits == kSteps - 1) {
      values = kExpected[run / repeats];
      corrupt(run / repeats, run % repeats, values);
    }
    return std::vector<std::vector<std::byte>>{to_bytes(values)};
  };
  return {{{"x", {DType::kFloat32, {4}}, 16}}, {{"y", kOutput, 24}}, answer};
}

SelfTestReport test_device(const Corrupt& corrupt, uint32_t repeats = 3) {
  FakeCapture capture = make_device(repeats, corrupt);
  SelfTestOptions options;
  options.repeats = repeats;
  auto report = run_self_test(capture, make_contract(), DeviceClass::kCpu, options);
  EXPECT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_EQ(capture.replays(), 2 * repeats * kSteps);
  return report.ok() ? *report : SelfTestReport{};
}

const SliceResult& slice(const SelfTestReport& report, const std::string& name, uint64_t seed) {
  for (const SliceResult& result : report.slices) {
    if (result.slice == name && result.seed == seed) return result;
  }
  throw std::runtime_error("no slice " + name);
}

TEST(SelfTest, ARightDevicePasses) {
  const SelfTestReport report = test_device([](size_t, size_t, std::vector<float>&) {});
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.slices.size(), 4u);
  EXPECT_TRUE(report.unsteady.empty());
  EXPECT_EQ(describe_failure(report), "");
}

TEST(SelfTest, InsideTheToleranceIsRight) {
  const SelfTestReport report = test_device([](size_t, size_t, std::vector<float>& values) {
    values[0] += 0.0105f;  // 0.01 + 0.001 * 1
    values[3] += 0.1f;     // 0.01 + 0.001 * 100
  });
  EXPECT_TRUE(report.passed) << describe_failure(report);
}

TEST(SelfTest, OutsideTheToleranceNamesTheElement) {
  const SelfTestReport report = test_device([](size_t vector, size_t, std::vector<float>& values) {
    if (vector == 1) values[2] += 0.5f;
  });
  EXPECT_FALSE(report.passed);
  EXPECT_TRUE(slice(report, "varying", 11).passed);
  const SliceResult& wrong = slice(report, "varying", 12);
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.wrong_elements, 1);
  EXPECT_EQ(wrong.worst_element, 2);
  EXPECT_EQ(wrong.expected, -6);
  EXPECT_EQ(wrong.found, -5.5);
  EXPECT_DOUBLE_EQ(wrong.allowed, 0.016);
  EXPECT_THAT(describe_failure(report), HasSubstr("slice 'varying' of output 'y' is outside"));
}

TEST(SelfTest, NanAndInfinityAreWrong) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const SelfTestReport report =
        test_device([&](size_t, size_t, std::vector<float>& values) { values[5] = value; });
    EXPECT_FALSE(report.passed);
    EXPECT_EQ(slice(report, "fixed", 11).wrong_elements, 1);
    EXPECT_EQ(slice(report, "fixed", 11).worst_element, 5);
  }
}

TEST(SelfTest, ASliceOfZerosIsConstant) {
  const SelfTestReport report = test_device([](size_t, size_t, std::vector<float>& values) {
    for (size_t i = 0; i < 4; ++i) values[i] = 0;
  });
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(slice(report, "varying", 11).reason, "constant");
  EXPECT_TRUE(slice(report, "fixed", 11).passed);
}

TEST(SelfTest, TheSameAnswerToEveryInputIsWrong) {
  const SelfTestReport report =
      test_device([](size_t, size_t, std::vector<float>& values) { values = kExpected[0]; });
  EXPECT_FALSE(report.passed);
  EXPECT_TRUE(slice(report, "varying", 11).passed);
  EXPECT_EQ(slice(report, "varying", 12).reason, "the same for different inputs");
}

TEST(SelfTest, AnotherDeviceClassWithoutToleranceMustBeExact) {
  FakeCapture capture = make_device(1, [](size_t, size_t, std::vector<float>& values) {
    values[0] = std::nextafter(values[0], 2.0f);
  });
  auto report = run_self_test(capture, make_contract(), DeviceClass::kGpu, {.repeats = 1});
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->passed);
}

TEST(SelfTest, AnUnsteadyDeviceIsLocated) {
  const SelfTestReport report = test_device(
      [](size_t vector, size_t repeat, std::vector<float>& values) {
        if (vector == 0 && repeat == 3) values[1] = std::nextafter(values[1], 0.0f);
        if (vector == 0 && repeat == 7) values[5] = std::nextafter(values[5], 0.0f);
      },
      10);
  EXPECT_FALSE(report.passed);
  ASSERT_EQ(report.unsteady.size(), 1u);
  const UnsteadyOutput& unsteady = report.unsteady[0];
  EXPECT_EQ(unsteady.output, "y");
  EXPECT_EQ(unsteady.seed, 11u);
  EXPECT_EQ(unsteady.distinct, 3u);
  EXPECT_EQ(unsteady.first, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(unsteady.last, (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(describe_failure(report), HasSubstr("3 different results in 10 runs"));
}

TEST(SelfTest, FailuresOfTheDeviceAreErrors) {
  FakeCapture capture = make_device(1, [](size_t, size_t, std::vector<float>&) {});
  capture.fail_replays(Error(ErrorCode::kDeviceLost, "gone"));
  auto report = run_self_test(capture, make_contract(), DeviceClass::kCpu, {.repeats = 1});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kDeviceLost);
}

TEST(SelfTest, IndicesOutOfRangeAreErrors) {
  FakeCapture capture = make_device(1, [](size_t, size_t, std::vector<float>&) {});
  capture.report().index_out_of_range = 1;
  auto report = run_self_test(capture, make_contract(), DeviceClass::kCpu, {.repeats = 1});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kCheckFailed);
}

TEST(SelfTest, AnArtifactWithoutReferencesProvesNothing) {
  FakeCapture capture = make_device(1, [](size_t, size_t, std::vector<float>&) {});
  Contract contract = make_contract();
  contract.references.clear();
  auto report = run_self_test(capture, contract, DeviceClass::kCpu, {.repeats = 1});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kCheckFailed);
}

TEST(SelfTest, CanBeInterrupted) {
  FakeCapture capture = make_device(100, [](size_t, size_t, std::vector<float>&) {});
  int asked = 0;
  SelfTestOptions options;
  options.repeats = 100;
  options.stop = [&] { return ++asked > 5; };
  auto report = run_self_test(capture, make_contract(), DeviceClass::kCpu, options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(capture.replays(), 5 * kSteps);
}

TEST(ReferenceInputs, SeedStepAndInputGiveDifferentBytesButAlwaysTheSame) {
  Contract contract = make_contract();
  contract.inputs.push_back({"z", InputRole::kVector, "", {DType::kFloat32, {4}}});
  const auto fill = [&](size_t index, uint64_t seed, uint32_t step) {
    std::vector<std::byte> bytes(16);
    fill_reference_input(contract, index, seed, step, bytes);
    return bytes;
  };
  EXPECT_EQ(fill(0, 1, 0), fill(0, 1, 0));
  EXPECT_NE(fill(0, 1, 0), fill(1, 1, 0));
  EXPECT_NE(fill(0, 1, 0), fill(0, 2, 0));
  EXPECT_NE(fill(0, 1, 0), fill(0, 1, 1));
}

TEST(ReferenceInputs, TransformCoversThePictureAndItsSurroundings) {
  CameraContract camera;
  camera.frame_input = "camera";
  camera.transform_input = "transform";
  camera.sizes = {{1928, 1208}};
  camera.output_size = {512, 256};
  const auto m = reference_transform(camera);
  const auto map = [&](double x, double y) {
    const double w = m[6] * x + m[7] * y + m[8];
    return std::pair((m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w);
  };
  EXPECT_NEAR(map(0, 0).first, -241, 1e-3);     // -1928 / 8
  EXPECT_NEAR(map(0, 0).second, -151, 1e-3);    // -1208 / 8
  EXPECT_NEAR(map(512, 0).first, 1928, 1e-2);   // 1928 (1.25 - 0.125) / 1.125
  EXPECT_NEAR(map(0, 256).second, 1359, 1e-2);  // 1208 (1.25 - 0.125)
  Contract contract;
  contract.cameras = {camera};
  contract.inputs = {{"transform", InputRole::kTransform, "", {DType::kFloat32, {3, 3}}},
                     {"other", InputRole::kTransform, "", {DType::kFloat32, {3, 3}}}};
  std::array<float, 9> found{};
  fill_reference_input(contract, 0, 5, 5, std::as_writable_bytes(std::span(found)));
  EXPECT_EQ(found, m);
  fill_reference_input(contract, 1, 5, 5, std::as_writable_bytes(std::span(found)));
  EXPECT_EQ(found, (std::array<float, 9>{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  auto options = reference_capture_options(contract);
  ASSERT_TRUE(options.ok());
  ASSERT_EQ(options->frames.size(), 1u);
  EXPECT_EQ(options->frames[0].layout.width, 1928u);
  EXPECT_EQ(options->frames[0].mode, InputMode::kUpload);
}

}  // namespace
}  // namespace modeld::test
