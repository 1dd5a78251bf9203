// run: arrays in, arrays out. The tiny model's answer is computed here by hand: with every pixel
// equal to the warp's border value the warp answers that value everywhere.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "runtime/device/backends.h"
#include "runtime/npy/npy.h"
#include "tests/modelctl/tool.h"
#include "tests/support/tiny_model.h"

namespace modeld::test {
namespace {

using testing::HasSubstr;

constexpr uint64_t kWidth = 1344;
constexpr uint64_t kHeight = 760;
constexpr uint8_t kBorder = 16;

class RunTest : public ToolTest {
 protected:
  RunTest() {
    write_tiny("tiny.model");
    write("camera.npy", NpyType::kU1, {kWidth * kHeight * 3 / 2},
          std::vector<std::byte>(kWidth * kHeight * 3 / 2, std::byte{kBorder}));
    write_floats("transform.npy", {3, 3}, {84, 0, 0, 0, 95, 0, 0, 0, 1});
    write_floats("x.npy", {1, 4}, {1, 2, 3, 4});
  }

  void write(const std::string& name, NpyType type, std::vector<uint64_t> shape,
             std::vector<std::byte> bytes) const {
    const Status written = write_npy(path(name), {type, std::move(shape), std::move(bytes)});
    if (!written.ok()) throw std::runtime_error(to_string(written.error()));
  }

  void write_floats(const std::string& name, std::vector<uint64_t> shape,
                    const std::vector<float>& values) const {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    write(name, NpyType::kF4, std::move(shape), std::move(bytes));
  }

  std::vector<float> read_floats(const std::string& name) const {
    const NpyArray array = read_npy(path(name)).value();
    EXPECT_EQ(array.type, NpyType::kF4);
    std::vector<float> values(array.bytes.size() / sizeof(float));
    std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
    return values;
  }

  std::vector<std::string> arguments(const std::string& backend = "reference") const {
    return {"run",          "tiny.model",
            "--backend",    backend,
            "--input",      "camera=camera.npy",
            "--frame",      "camera=1344x760",
            "--input",      "transform=transform.npy",
            "--input",      "x=x.npy",
            "--output-dir", "out"};
  }

  // `arguments()` with one of them replaced.
  ToolResult with(const std::string& old, const std::string& replacement) const {
    auto changed = arguments();
    std::replace(changed.begin(), changed.end(), old, replacement);
    return tool(changed);
  }

  // y after `steps` frames: y_n = 16 * column sums of W + x + y_(n-1).
  static std::vector<double> expected(int steps) {
    std::vector<std::byte> bytes(kTinyWeightsBytes);
    EXPECT_TRUE(tiny_model().weights->read(0, bytes).ok());
    std::vector<float> weights(bytes.size() / sizeof(float));
    std::memcpy(weights.data(), bytes.data(), weights.size() * sizeof(float));
    std::vector<double> y(4);
    for (size_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (size_t i = 0; i < 128; ++i) sum += kBorder * static_cast<double>(weights[i * 4 + j]);
      y[j] = weights[512 + j];
      for (int step = 0; step < steps; ++step) y[j] += sum + static_cast<double>(j) + 1;
    }
    return y;
  }

  void expect_output(int steps) const {
    const auto found = read_floats("out/y.npy");
    const auto want = expected(steps);
    ASSERT_EQ(found.size(), 4u);
    for (size_t j = 0; j < 4; ++j) EXPECT_NEAR(found[j], want[j], 1e-3) << j;
  }
};

TEST_F(RunTest, OneFrame) {
  const ToolResult result = tool(arguments());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("out/y.npy"));
  expect_output(1);
}

TEST_F(RunTest, EveryBackendAgrees) {
  for (const std::string& backend : backend_names()) {
    const ToolResult result = tool(arguments(backend));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_output(1);
    std::filesystem::remove_all(folder_ / "out");
  }
}

TEST_F(RunTest, StateGoesFromFrameToFrame) {
  auto steps = arguments();
  steps.insert(steps.end(), {"--steps", "3", "--json"});
  const ToolResult result = tool(steps);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_output(3);
  const auto report = result.json();
  EXPECT_EQ(report["steps"], 3);
  EXPECT_EQ(report["latency_ms"].size(), 3u);
  EXPECT_EQ(report["backend"], "reference");
  EXPECT_EQ(report["outputs"][0]["name"], "y");
  EXPECT_EQ(report["outputs"][0]["type"], "f32[1,4]");
}

TEST_F(RunTest, PaddingOfTheFrameDoesNotMatter) {
  constexpr uint64_t kStride = 1408;
  constexpr uint64_t kUvOffset = kStride * 768;
  std::vector<std::byte> padded(kUvOffset + kStride * kHeight / 2, std::byte{0xff});
  const auto fill_rows = [&](uint64_t start, uint64_t rows) {
    for (uint64_t row = 0; row < rows; ++row) {
      std::fill_n(padded.begin() + static_cast<std::ptrdiff_t>(start + row * kStride), kWidth,
                  std::byte{kBorder});
    }
  };
  fill_rows(0, kHeight);
  fill_rows(kUvOffset, kHeight / 2);
  write("camera.npy", NpyType::kU1, {padded.size()}, padded);
  const ToolResult result = with("camera=1344x760", "camera=1344x760:1408:1081344");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_output(1);
}

TEST_F(RunTest, ArraysThatDoNotFitNameBothSides) {
  write_floats("x.npy", {4}, {1, 2, 3, 4});
  const ToolResult shape = tool(arguments());
  EXPECT_EQ(shape.exit_code, 2);
  EXPECT_THAT(shape.err, HasSubstr("input 'x' from x.npy"));
  EXPECT_THAT(shape.err, HasSubstr("(expected f32[1,4], found <f4[4])"));
  write("x.npy", NpyType::kF8, {1, 4}, std::vector<std::byte>(32));
  const ToolResult dtype = tool(arguments());
  EXPECT_EQ(dtype.exit_code, 2);
  EXPECT_THAT(dtype.err, HasSubstr("(expected f32[1,4], found <f8[1,4])"));
}

TEST_F(RunTest, InputsAreAllNamedOnce) {
  const ToolResult unknown = with("x=x.npy", "z=x.npy");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("(expected one of camera, transform, x, found z)"));
  const ToolResult twice = with("transform=transform.npy", "x=x.npy");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("expected once, found twice"));
  const ToolResult missing =
      tool({"run", "tiny.model", "--backend", "reference", "--output-dir", "out"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--input camera=FILE.npy"));
  EXPECT_EQ(with("x=x.npy", "x=").exit_code, 2);
  EXPECT_EQ(with("x=x.npy", "x=none.npy").exit_code, 2);
}

TEST_F(RunTest, FramesAreCheckedAgainstTheirGeometryAndTheContract) {
  const ToolResult size = with("camera=1344x760", "camera=1340x760");
  EXPECT_EQ(size.exit_code, 3);
  EXPECT_THAT(size.err, HasSubstr("(expected 1928x1208 or 1344x760, found 1340x760)"));
  const ToolResult shorter = with("camera=1344x760", "camera=1928x1208");
  EXPECT_EQ(shorter.exit_code, 2);
  EXPECT_THAT(shorter.err, HasSubstr("length"));
  EXPECT_EQ(with("camera=1344x760", "camera=wide").exit_code, 2);
  EXPECT_EQ(with("camera=1344x760", "camera=1344x760:1:2:3").exit_code, 2);
  EXPECT_EQ(with("camera=1344x760", "camera=99999999999999999999x2").exit_code, 2);
}

TEST_F(RunTest, UnknownBackendNamesTheKnownOnes) {
  const ToolResult result = with("reference", "abacus");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("reference"));
  EXPECT_THAT(result.err, HasSubstr("found abacus"));
}

TEST_F(RunTest, ADamagedArtifactIsExitCodeThree) {
  std::filesystem::resize_file(path("tiny.model"), 1000);
  const ToolResult result = tool(arguments());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("truncated file"));
}

}  // namespace
}  // namespace modeld::test
