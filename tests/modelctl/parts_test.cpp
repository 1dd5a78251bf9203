// The parts of modelctl that need no process: percentiles, arrays, options, numbers for people.
#include <gmock/gmock.h>

#include <cstring>

#include "tools/modelctl/frame_option.h"
#include "tools/modelctl/input_shapes.h"
#include "tools/modelctl/latency_summary.h"
#include "tools/modelctl/npy_tensor.h"
#include "tools/modelctl/peak_flops.h"
#include "tools/modelctl/report.h"

namespace modeld::modelctl {
namespace {

TEST(LatencySummary, NearestRank) {
  std::vector<Nanoseconds> samples;
  for (int i = 1000; i >= 1; --i) samples.push_back(i * kMillisecond);
  const LatencySummary summary = summarise(samples);
  EXPECT_DOUBLE_EQ(summary.mean, 500.5);
  EXPECT_DOUBLE_EQ(summary.p50, 500);
  EXPECT_DOUBLE_EQ(summary.p90, 900);
  EXPECT_DOUBLE_EQ(summary.p99, 990);
  EXPECT_DOUBLE_EQ(summary.p999, 999);
  EXPECT_DOUBLE_EQ(summary.max, 1000);
}

TEST(PhaseDurations, StretchesDoNotCountTwice) {
  ReplayReport report;
  const auto set = [&](Phase phase, Nanoseconds started, Nanoseconds ended) {
    report.phases[static_cast<size_t>(phase)] = {90, 95, started, ended};
  };
  set(Phase::kWarp, 110, 140);
  set(Phase::kHistory, 105, 400);  // before and after the model
  set(Phase::kModel, 150, 390);
  const auto durations = phase_durations(report);
  const auto of = [&](Phase phase) { return durations[static_cast<size_t>(phase)]; };
  EXPECT_EQ(of(Phase::kWarp), 30);
  EXPECT_EQ(of(Phase::kHistory), 55);
  EXPECT_EQ(of(Phase::kModel), 240);
  EXPECT_EQ(of(Phase::kUpload), std::nullopt);
}

TEST(LatencySummary, FewSamples) {
  EXPECT_DOUBLE_EQ(summarise({}).max, 0);
  const LatencySummary one = summarise({3 * kMillisecond});
  EXPECT_DOUBLE_EQ(one.p50, 3);
  EXPECT_DOUBLE_EQ(one.p999, 3);
  const LatencySummary three = summarise({kMillisecond, 2 * kMillisecond, 9 * kMillisecond});
  EXPECT_DOUBLE_EQ(three.p50, 2);
  EXPECT_DOUBLE_EQ(three.p90, 9);
}

TEST(FrameOption, BothForms) {
  const auto tight = parse_frame_option("cam=1344x760");
  ASSERT_TRUE(tight.ok());
  EXPECT_EQ(tight->input, "cam");
  EXPECT_EQ(tight->stride, 1344u);
  EXPECT_EQ(tight->uv_offset, 1344u * 760u);
  const auto padded = parse_frame_option("cam=1928x1208:2048:2523136");
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(padded->width, 1928u);
  EXPECT_EQ(padded->height, 1208u);
  EXPECT_EQ(padded->stride, 2048u);
  EXPECT_EQ(padded->uv_offset, 2523136u);
}

TEST(FrameOption, Malformed) {
  for (const char* text : {"", "cam", "cam=", "=1x2", "cam=1", "cam=1x", "cam=x2", "cam=1x2:3",
                           "cam=1x2:3:", "cam=1x2:3:4:5", "cam=-1x2", "cam=1x2 ", "cam=0x10y2",
                           "cam=4294967297x4294967297"}) {
    const auto frame = parse_frame_option(text);
    ASSERT_FALSE(frame.ok()) << text;
    EXPECT_EQ(frame.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(InputShapes, NamesAndExtents) {
  const auto shapes = parse_input_shapes({"x=1x256"});
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->at("x"), (Shape{1, 256}));
  for (const char* bad : {"x", "x=", "x=1x", "x=x1", "x=-1", "x=1y2", "x=99999999999999999999"}) {
    EXPECT_FALSE(parse_input_shapes({bad}).ok()) << bad;
  }
  EXPECT_FALSE(parse_input_shapes({"x=1", "x=2"}).ok());
}

TEST(NpyTensor, Bfloat16TravelsAsFloat) {
  // 1.0 is 0x3f80; 1 + 2^-8 lies half way to the next bfloat16 and rounds to even, down.
  const std::vector<float> values = {1.0f, 1.00390625f, -2.5f};
  NpyArray array{NpyType::kF4, {3}, std::vector<std::byte>(12)};
  std::memcpy(array.bytes.data(), values.data(), 12);
  const TensorType type{DType::kBFloat16, {3}};
  const auto bytes = tensor_from_npy(array, type);
  ASSERT_TRUE(bytes.ok());
  std::vector<uint16_t> bits(3);
  std::memcpy(bits.data(), bytes->data(), 6);
  EXPECT_EQ(bits, (std::vector<uint16_t>{0x3f80, 0x3f80, 0xc020}));
  const NpyArray back = tensor_to_npy(*bytes, type);
  EXPECT_EQ(back.type, NpyType::kF4);
  std::vector<float> floats(3);
  std::memcpy(floats.data(), back.bytes.data(), 12);
  EXPECT_EQ(floats, (std::vector<float>{1.0f, 1.0f, -2.5f}));
}

TEST(NpyTensor, OtherTypesAreTakenAsTheyAre) {
  const NpyArray array{NpyType::kI8, {2}, std::vector<std::byte>(16, std::byte{3})};
  const auto bytes = tensor_from_npy(array, {DType::kInt64, {2}});
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, array.bytes);
  EXPECT_FALSE(tensor_from_npy(array, {DType::kInt64, {1, 2}}).ok());
  EXPECT_FALSE(tensor_from_npy(array, {DType::kUInt64, {2}}).ok());
  const NpyArray scalar = tensor_to_npy(std::vector<std::byte>(1), {DType::kBool, {}});
  EXPECT_EQ(scalar.type, NpyType::kB1);
  EXPECT_TRUE(scalar.shape.empty());
}

TEST(Report, Units) {
  EXPECT_EQ(format_bytes(999), "999 bytes");
  EXPECT_EQ(format_bytes(1500), "1.5 kB");
  EXPECT_EQ(format_bytes(766'000'000), "766.0 MB");
  EXPECT_EQ(format_bytes(2'500'000'000'000'000), "2500.0 TB");
  EXPECT_EQ(format_number(1234567.0), "1.23457e+06");
  EXPECT_EQ(format_number(0.25), "0.25");
}

// Any processor does a billion operations a second and none (of one thread) ten thousand billion.
TEST(PeakFlops, IsPlausible) {
  const PeakFlops peak = measure_peak_flops(1);
  EXPECT_GT(peak.gflops, 0.2);
  EXPECT_LT(peak.gflops, 10'000);
  EXPECT_THAT(peak.instructions, testing::AnyOf("avx512", "avx2", "portable"));
}

}  // namespace
}  // namespace modeld::modelctl
