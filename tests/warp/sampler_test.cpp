#include "warp/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace modeld {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Matrix3f kIdentity{{1, 0, 0, 0, 1, 0, 0, 0, 1}};

// A buffer of exactly the bytes in use: one byte further is a sanitizer error.
struct Frame {
  Nv12Layout layout;
  std::vector<uint8_t> bytes;

  Frame(uint32_t width, uint32_t height, uint32_t stride, uint32_t extra_rows, uint8_t padding)
      : layout{width, height, stride, static_cast<uint64_t>(stride) * (height + extra_rows), 0} {
    layout.length = layout.bytes_in_use();
    bytes.assign(layout.length, padding);
  }

  template <typename Luma, typename Chroma>
  void paint(Luma luma, Chroma chroma) {
    for (uint32_t y = 0; y < layout.height; ++y) {
      for (uint32_t x = 0; x < layout.width; ++x) {
        bytes[y * layout.stride + x] = luma(x, y);
        if (y % 2 == 0) bytes[layout.uv_offset + y / 2 * layout.stride + x] = chroma(x, y / 2);
      }
    }
  }
};

std::vector<uint8_t> run(WarpKernel kernel, const WarpSpec& spec, const Frame& frame,
                         const Matrix3f& matrix) {
  EXPECT_TRUE(check_warp(spec, frame.layout).ok());
  std::vector<uint8_t> out(spec.output_bytes(), 0xA5);
  warp_with(kernel, spec, frame.layout, frame.bytes.data(), matrix, out.data());
  return out;
}

class SamplerTest : public testing::TestWithParam<WarpKernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, SamplerTest,
                         testing::ValuesIn(available_warp_kernels().begin(),
                                           available_warp_kernels().end()),
                         [](const auto& param_info) {
                           return std::string(to_string(param_info.param));
                         });

// Luma byte at every output pixel of a one-row luma warp of a gradient whose value is its column.
std::vector<uint8_t> columns_seen(WarpKernel kernel, const Matrix3f& matrix,
                                  std::optional<uint8_t> fill = {}) {
  Frame frame(200, 2, 256, 0, 0xFF);
  frame.paint([](uint32_t x, uint32_t) { return static_cast<uint8_t>(x); },
              [](uint32_t, uint32_t) { return uint8_t{0}; });
  return run(kernel, {200, 2, 20, 1, WarpOutput::kLuma, fill}, frame, matrix);
}

// The published identity case (facts 6.6).
TEST_P(SamplerTest, IdentityFillsTheSixPlanes) {
  Frame frame(8, 8, 8, 0, 0xFF);
  frame.paint([](uint32_t x, uint32_t y) { return static_cast<uint8_t>(8 * y + x); },
              [](uint32_t x, uint32_t) { return static_cast<uint8_t>(x % 2 == 0 ? 100 : 200); });
  const auto out = run(GetParam(), {8, 8, 4, 4, WarpOutput::kYuv420Planes, {}}, frame, kIdentity);
  EXPECT_EQ(out, (std::vector<uint8_t>{0, 2,  16, 18, 8,   10,  24,  26,  1,   3,   17,  19,
                                       9, 11, 25, 27, 100, 100, 100, 100, 200, 200, 200, 200}));
}

TEST_P(SamplerTest, FieldFault30ExactHalvesGoToTheEvenColumn) {
  const auto out = columns_seen(GetParam(), {{1, 0, 0.5f, 0, 1, 0, 0, 0, 1}});
  // 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, 3.5 -> 4, ...
  for (uint32_t x = 0; x < 20; ++x) EXPECT_EQ(out[x], x % 2 == 0 ? x : x + 1) << x;
}

TEST_P(SamplerTest, FieldFault30EdgesClamp) {
  const auto left = columns_seen(GetParam(), {{1, 0, -2.5f, 0, 1, 0, 0, 0, 1}});
  EXPECT_EQ((std::vector<uint8_t>(left.begin(), left.begin() + 6)),
            (std::vector<uint8_t>{0, 0, 0, 0, 2, 2}));
  const auto right = columns_seen(GetParam(), {{1, 0, 195.5f, 0, 1, 0, 0, 0, 1}});
  EXPECT_EQ((std::vector<uint8_t>(right.begin(), right.begin() + 6)),
            (std::vector<uint8_t>{196, 196, 198, 198, 199, 199}));
}

TEST_P(SamplerTest, FieldFault30EdgesFillByTheRoundedCoordinate) {
  // -2.5 -> -2 and -1.5 -> -2 outside; -0.5 -> -0 is inside.
  const auto left = columns_seen(GetParam(), {{1, 0, -2.5f, 0, 1, 0, 0, 0, 1}}, uint8_t{16});
  EXPECT_EQ((std::vector<uint8_t>(left.begin(), left.begin() + 6)),
            (std::vector<uint8_t>{16, 16, 0, 0, 2, 2}));
  // 198.5 -> 198 inside; 199.5 -> 200 outside.
  const auto right = columns_seen(GetParam(), {{1, 0, 195.5f, 0, 1, 0, 0, 0, 1}}, uint8_t{16});
  EXPECT_EQ((std::vector<uint8_t>(right.begin(), right.begin() + 6)),
            (std::vector<uint8_t>{196, 196, 198, 198, 16, 16}));
}

TEST_P(SamplerTest, FieldFault30DenominatorsOfEitherSign) {
  const auto plus = columns_seen(GetParam(), {{2, 0, 6, 0, 2, 0, 0, 0, 2}});
  const auto minus = columns_seen(GetParam(), {{-2, 0, -6, 0, -2, 0, 0, 0, -2}});
  for (uint32_t x = 0; x < 20; ++x) EXPECT_EQ(plus[x], x + 3);
  EXPECT_EQ(minus, plus);
  // w = x - 4: -(x + 10) / 4 ... clamp left of the sign change, infinity on it, positive after.
  const auto both = columns_seen(GetParam(), {{1, 0, 10, 0, 1, 0, 1, 0, -4}});
  EXPECT_EQ((std::vector<uint8_t>(both.begin(), both.begin() + 7)),
            // -10/4, -11/3, -12/2, -13/1, NaN row (0/0), 15/1, 16/2
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 15, 8}));
}

TEST_P(SamplerTest, InfinityClampsOrFills) {
  // x / 0 with x > 0 and y / 0 with y > 0: the last column of the last row.
  const Matrix3f to_infinity{{0, 0, 1, 0, 0, 1, 0, 0, 0}};
  EXPECT_EQ(columns_seen(GetParam(), to_infinity), std::vector<uint8_t>(20, 199));
  EXPECT_EQ(columns_seen(GetParam(), to_infinity, uint8_t{16}), std::vector<uint8_t>(20, 16));
}

TEST_P(SamplerTest, NotANumberGivesZeroAlsoWithAFill) {
  for (size_t i = 0; i < 9; ++i) {
    Matrix3f matrix = kIdentity;
    matrix.m[i] = kNaN;
    for (const std::optional<uint8_t> fill : {std::optional<uint8_t>(), {uint8_t{16}}}) {
      Frame frame(64, 32, 64, 0, 0xFF);
      const auto luma = run(GetParam(), {64, 32, 20, 6, WarpOutput::kLuma, fill}, frame, matrix);
      EXPECT_EQ(luma, std::vector<uint8_t>(120, 0)) << i;
      const auto planes =
          run(GetParam(), {64, 32, 20, 6, WarpOutput::kYuv420Planes, fill}, frame, matrix);
      EXPECT_EQ(planes, std::vector<uint8_t>(180, 0)) << i;
    }
  }
}

TEST_P(SamplerTest, TheZeroMatrixGivesZeros) {
  Frame frame(64, 32, 64, 0, 0xFF);
  EXPECT_EQ(run(GetParam(), {64, 32, 16, 8, WarpOutput::kYuv420Planes, {}}, frame, {}),
            std::vector<uint8_t>(192, 0));
}

TEST_P(SamplerTest, PaddingNeverMatters) {
  const auto luma = [](uint32_t x, uint32_t y) {
    return static_cast<uint8_t>((7 * x + 13 * y) % 255);
  };
  const auto chroma = [](uint32_t x, uint32_t y) {
    return static_cast<uint8_t>((5 * x + 3 * y) % 255);
  };
  Frame tight(62, 34, 62, 0, 0);
  Frame padded(62, 34, 97, 5, 0xFF);  // odd stride, rows below the picture
  tight.paint(luma, chroma);
  padded.paint(luma, chroma);
  std::mt19937 random(9);
  std::normal_distribution<float> entry(0.0f, 8.0f);
  for (int round = 0; round < 50; ++round) {
    Matrix3f matrix{{1.7f, 0.1f, -9.0f, -0.2f, 1.3f, -4.0f, 1e-3f, 1e-3f, 1.0f}};
    if (round > 0) {
      for (float& value : matrix.m) value = entry(random);
    }
    for (const WarpOutput output : {WarpOutput::kYuv420Planes, WarpOutput::kLuma}) {
      const WarpSpec spec{62, 34, 44, 30, output, {}};
      const auto have = run(GetParam(), spec, padded, matrix);
      EXPECT_EQ(have, run(GetParam(), spec, tight, matrix));
      // The pictures hold no 255: a byte of padding would show.
      EXPECT_EQ(std::count(have.begin(), have.end(), uint8_t{255}), 0);
    }
  }
}

TEST_P(SamplerTest, EqualsTheScalarVersionBitForBit) {
  std::mt19937 random(20);
  std::uniform_int_distribution<int> byte(0, 255);
  Frame frame(130, 70, 161, 3, 0);
  for (uint8_t& value : frame.bytes) value = static_cast<uint8_t>(byte(random));
  std::normal_distribution<float> entry(0.0f, 8.0f);
  std::normal_distribution<float> small(0.0f, 0.01f);
  std::uniform_int_distribution<uint32_t> side(1, 50);
  std::uniform_int_distribution<size_t> place(0, 8);
  const float odd_values[] = {0.0f, -0.0f, kNaN, kInf, -kInf, 1e38f, -1e38f, 1e-40f};
  for (uint32_t round = 0; round < 2000; ++round) {
    Matrix3f matrix;
    for (float& value : matrix.m) value = entry(random);
    if (round % 2 == 0) {  // near a real calibration
      for (size_t i = 0; i < 9; ++i) matrix.m[i] = kIdentity.m[i] * 2.5f + small(random);
    }
    if (round % 5 == 0) matrix.m[place(random)] = odd_values[round / 5 % 8];
    const WarpOutput output = round % 3 == 0 ? WarpOutput::kLuma : WarpOutput::kYuv420Planes;
    const WarpSpec spec{130,
                        70,
                        2 * side(random),
                        2 * side(random),
                        output,
                        round % 4 < 2 ? std::optional<uint8_t>(16) : std::nullopt};
    ASSERT_EQ(run(GetParam(), spec, frame, matrix), run(WarpKernel::kScalar, spec, frame, matrix))
        << "round " << round;
  }
}

TEST_P(SamplerTest, TinyPicturesReadNothingBehindTheirEnd) {
  for (const uint32_t width : {2u, 4u, 6u}) {
    Frame frame(width, 2, width, 0, 0);
    frame.paint([](uint32_t x, uint32_t y) { return static_cast<uint8_t>(10 * y + x); },
                [](uint32_t x, uint32_t) { return static_cast<uint8_t>(100 + x); });
    const WarpSpec spec{width, 2, 20, 4, WarpOutput::kYuv420Planes, {}};
    const auto out = run(GetParam(), spec, frame, kIdentity);
    EXPECT_EQ(out, run(WarpKernel::kScalar, spec, frame, kIdentity));
    EXPECT_EQ(out[99], 100 + width - 2);   // U's last pixel, clamped
    EXPECT_EQ(out[119], 100 + width - 1);  // V's
  }
}

TEST(Sampler, SplitRowsGiveTheSameBytes) {
  Frame frame(64, 32, 80, 1, 0xFF);
  frame.paint([](uint32_t x, uint32_t y) { return static_cast<uint8_t>(x * 3 + y); },
              [](uint32_t x, uint32_t y) { return static_cast<uint8_t>(x + y * 5); });
  const Matrix3f matrix{{1.9f, 0.2f, -3.0f, 0.1f, 1.1f, 2.0f, 1e-3f, 0.0f, 1.0f}};
  for (const WarpOutput output : {WarpOutput::kYuv420Planes, WarpOutput::kLuma}) {
    const WarpSpec spec{64, 32, 34, 26, output, {}};
    const auto whole = run(WarpKernel::kScalar, spec, frame, matrix);
    std::vector<uint8_t> parts(whole.size(), 0xA5);
    for (uint32_t first = 0; first < spec.row_units(); first += 4) {
      const uint32_t count = std::min(4u, spec.row_units() - first);
      warp_rows(spec, frame.layout, frame.bytes.data(), matrix, parts.data(), first, count);
    }
    EXPECT_EQ(parts, whole);
    std::vector<uint8_t> best(whole.size());
    warp(spec, frame.layout, frame.bytes.data(), matrix, best.data());
    EXPECT_EQ(best, whole);
  }
}

TEST(Sampler, SpecsAndLayoutsMustFit) {
  const Nv12Layout layout{64, 32, 64, 2048, 3072};
  const WarpSpec good{64, 32, 16, 8, WarpOutput::kYuv420Planes, {}};
  EXPECT_TRUE(check_warp(good, layout).ok());
  EXPECT_EQ(good.output_bytes(), 192u);
  EXPECT_EQ(good.row_units(), 4u);

  WarpSpec odd = good;
  odd.out_width = 15;
  EXPECT_FALSE(check_warp(odd, layout).ok());
  odd.output = WarpOutput::kLuma;
  EXPECT_TRUE(check_warp(odd, layout).ok());
  odd.out_height = 0;
  EXPECT_FALSE(check_warp(odd, layout).ok());

  WarpSpec other = good;
  other.width = 62;
  const Status refused = check_warp(other, layout);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().expected, "62x32");
  EXPECT_EQ(refused.error().found, "64x32");

  Nv12Layout cut = layout;
  cut.length = 3071;
  ASSERT_FALSE(check_warp(good, cut).ok());
  EXPECT_TRUE(check_warp(good, cut).error().message.starts_with("NV12 length:"));
}

}  // namespace
}  // namespace modeld
