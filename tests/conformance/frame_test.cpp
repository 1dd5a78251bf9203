// Camera frames: upload and bind, and the warp's bytes.
#include <cstring>

#include "runtime/program/seeded_inputs.h"
#include "tests/conformance/backend_suite.h"
#include "warp/sampler.h"

namespace modeld::test {
namespace {

constexpr uint32_t kWidth = 64;
constexpr uint32_t kHeight = 48;
constexpr int64_t kOutWidth = 32;
constexpr int64_t kOutHeight = 16;

// Rows longer than the picture and a gap before the chroma rows.
Nv12Layout padded_layout() {
  return {kWidth, kHeight, kWidth + 16, (kWidth + 16) * (kHeight + 2),
          uint64_t{kWidth + 16} * (kHeight + 2 + kHeight / 2)};
}

ProgramBuilder warping(const std::string& layout, std::optional<int64_t> fill,
                       bool bilinear = false) {
  ProgramBuilder builder;
  const TensorId frame = builder.frame("road");
  const TensorId matrix = builder.input("transform", {DType::kFloat32, {3, 3}});
  Attributes::Map attributes = {
      {"layout", layout}, {"out_width", kOutWidth}, {"out_height", kOutHeight}};
  if (fill) attributes["border_fill"] = *fill;
  if (bilinear) attributes["filter"] = std::string("bilinear");
  builder.output(builder.op(OpKind::kWarp, {frame, matrix}, attributes, Phase::kWarp), "picture");
  return builder;
}

CaptureOptions framed(InputMode mode, Nv12Layout layout = padded_layout()) {
  CaptureOptions options;
  options.frames.push_back({"road", layout, mode});
  return options;
}

std::vector<std::byte> random_frame(uint64_t seed) {
  std::vector<std::byte> bytes(padded_layout().length);
  fill_seeded(bytes, DType::kNv12, seed, 0, 0);
  return bytes;
}

// A zoom, shift and slight tilt, sometimes far outside the picture.
Matrix3f random_matrix(SplitMix64& random) {
  const auto near = [&](double centre, double spread) {
    return static_cast<float>(centre + spread * (random.uniform() - 0.5));
  };
  return {{near(1.5, 2), near(0, 1), near(8, 60), near(0, 1), near(2, 2), near(4, 40),
           near(0, 0.01), near(0, 0.01), 1.0f}};
}

std::vector<std::byte> expected_bytes(const std::string& layout, std::optional<int64_t> fill,
                                      const std::vector<std::byte>& frame, const Matrix3f& matrix,
                                      bool bilinear = false) {
  WarpSpec spec;
  spec.width = kWidth;
  spec.height = kHeight;
  spec.out_width = kOutWidth;
  spec.out_height = kOutHeight;
  spec.output = layout == "luma" ? WarpOutput::kLuma : WarpOutput::kYuv420Planes;
  if (fill) spec.border_fill = static_cast<uint8_t>(*fill);
  if (bilinear) spec.filter = WarpFilter::kBilinear;
  std::vector<std::byte> out(spec.output_bytes());
  warp_scalar(spec, padded_layout(), reinterpret_cast<const uint8_t*>(frame.data()), matrix,
              reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

void stage_matrix(Capture& capture, const Matrix3f& matrix) {
  stage(capture, "transform", std::as_bytes(std::span(matrix.m)));
}

std::vector<std::byte> picture(const Capture& capture) {
  const std::span<const std::byte> bytes = capture.output(0);
  return {bytes.begin(), bytes.end()};
}

TEST_P(Conformance, FieldFault30UploadedFramesWarpBitForBit) {
  SplitMix64 random(11);
  for (const auto& [layout, fill] : std::vector<std::pair<std::string, std::optional<int64_t>>>{
           {"yuv420_planes", std::nullopt}, {"luma", 16}, {"luma", std::nullopt}}) {
    const auto capture = record(warping(layout, fill), framed(InputMode::kUpload));
    EXPECT_EQ(capture->inputs()[0].bytes, padded_layout().length);
    for (uint64_t round = 0; round < 20; ++round) {
      const auto frame = random_frame(round);
      const Matrix3f matrix = random_matrix(random);
      stage(*capture, "road", frame);
      stage_matrix(*capture, matrix);
      run(*capture);
      ASSERT_EQ(picture(*capture), expected_bytes(layout, fill, frame, matrix))
          << layout << " round " << round;
    }
  }
}

TEST_P(Conformance, BilinearWarpsAgreeBitForBit) {
  SplitMix64 random(13);
  for (const std::string layout : {"yuv420_planes", "luma"}) {
    const auto capture = record(warping(layout, std::nullopt, true), framed(InputMode::kUpload));
    for (uint64_t round = 0; round < 20; ++round) {
      const auto frame = random_frame(round);
      Matrix3f matrix = random_matrix(random);
      if (round == 18) matrix = Matrix3f{};
      if (round == 19) matrix.m[8] = 0;  // divides by zero at the first pixel
      stage(*capture, "road", frame);
      stage_matrix(*capture, matrix);
      run(*capture);
      ASSERT_EQ(picture(*capture), expected_bytes(layout, std::nullopt, frame, matrix, true))
          << layout << " round " << round;
    }
  }
}

// Three imported buffers whose order, content and addresses change under the capture.
TEST_P(Conformance, BoundFramesMayChangeAddressContentAndOrder) {
  if (device().capabilities().host_pointer_import != Probed::kYes) {
    GTEST_SKIP() << "the device imports no host memory";
  }
  const auto capture = record(warping("yuv420_planes", std::nullopt), framed(InputMode::kBind));
  EXPECT_TRUE(capture->staging(0).empty());
  constexpr size_t kBuffers = 3;
  const uint64_t length = padded_layout().length;
  std::vector<std::unique_ptr<std::byte[], decltype(&std::free)>> pages;
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (size_t i = 0; i < kBuffers; ++i) {
    const size_t rounded = (length + 4095) / 4096 * 4096;
    pages.emplace_back(static_cast<std::byte*>(std::aligned_alloc(4096, rounded)), &std::free);
    auto buffer = device().import_host({pages[i].get(), rounded});
    ASSERT_TRUE(buffer.ok()) << to_string(buffer.error());
    EXPECT_EQ((*buffer)->ownership(), BufferOwnership::kImported);
    buffers.push_back(std::move(buffer).value());
  }
  SplitMix64 random(12);
  for (uint64_t round = 0; round < 30; ++round) {
    const size_t chosen = random.next() % kBuffers;
    const auto frame = random_frame(100 + round);
    std::memcpy(pages[chosen].get(), frame.data(), frame.size());
    ASSERT_TRUE(buffers[chosen]->flush().ok());
    ASSERT_TRUE(capture->bind(0, *buffers[chosen]).ok());
    const Matrix3f matrix = random_matrix(random);
    stage_matrix(*capture, matrix);
    run(*capture);
    ASSERT_EQ(picture(*capture), expected_bytes("yuv420_planes", std::nullopt, frame, matrix))
        << "round " << round;
  }
}

TEST_P(Conformance, BindIsChecked) {
  const auto capture = record(warping("luma", std::nullopt), framed(InputMode::kBind));
  const auto unbound = capture->replay();
  ASSERT_FALSE(unbound.ok());
  EXPECT_EQ(unbound.error().code, ErrorCode::kInvalidArgument);

  const auto refused = [&](size_t input, Buffer& buffer) {
    const Status status = capture->bind(input, buffer);
    return !status.ok() && status.error().code == ErrorCode::kInvalidArgument;
  };
  auto small = device().allocate(padded_layout().length - 1, 64);
  ASSERT_TRUE(small.ok());
  // An allocation may be larger than asked for; then it is no short buffer.
  if ((*small)->size() < padded_layout().length) {
    EXPECT_TRUE(refused(0, **small));
  }
  auto right = device().allocate(padded_layout().length, 4096);
  ASSERT_TRUE(right.ok());
  EXPECT_TRUE(refused(1, **right)) << "transform is not a frame";
  EXPECT_TRUE(refused(2, **right)) << "no such input";
  auto other = GetParam().open();
  ASSERT_TRUE(other.ok());
  auto foreign = (*other)->allocate(padded_layout().length, 4096);
  ASSERT_TRUE(foreign.ok());
  EXPECT_TRUE(refused(0, **foreign));
  EXPECT_TRUE(capture->bind(0, **right).ok());
}

TEST_P(Conformance, FrameBindingsMatchTheProgram) {
  const ProgramBuilder builder = warping("luma", std::nullopt);
  const auto expect_error = [&](const CaptureOptions& options, const std::string& text) {
    const Error error = record_error(builder, options);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << to_string(error);
    EXPECT_NE(to_string(error).find(text), std::string::npos) << to_string(error);
  };
  expect_error({}, "'road'");
  CaptureOptions unknown = framed(InputMode::kUpload);
  unknown.frames.push_back({"cabin", padded_layout(), InputMode::kUpload});
  expect_error(unknown, "'cabin'");
  CaptureOptions twice = framed(InputMode::kUpload);
  twice.frames.push_back(twice.frames[0]);
  expect_error(twice, "'road'");
  CaptureOptions vector = framed(InputMode::kUpload);
  vector.frames.push_back({"transform", padded_layout(), InputMode::kUpload});
  expect_error(vector, "'transform'");
  Nv12Layout narrow = padded_layout();
  narrow.stride = kWidth - 2;
  EXPECT_NE(to_string(record_error(builder, framed(InputMode::kUpload, narrow))).find("stride"),
            std::string::npos);
}

}  // namespace
}  // namespace modeld::test
