// The bilinear filter against the rule as interoperability facts 6.7 state it: 5 fractional bits
// and weights of 15 bits, written down here once more in other words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "warp/sampler.h"

namespace modeld {
namespace {

constexpr uint32_t kWidth = 24;
constexpr uint32_t kHeight = 18;

Nv12Layout layout() {
  return {kWidth, kHeight, 32, 32 * 20, 32 * 30};
}

WarpSpec spec_of(WarpOutput output) {
  WarpSpec spec{kWidth, kHeight, 16, 12, output, {}};
  spec.filter = WarpFilter::kBilinear;
  return spec;
}

// One plane of the picture; `step` bytes from sample to sample.
struct Plane {
  const uint8_t* pixels;
  int width;
  int height;
  int step;
};

uint8_t at(const Plane& plane, int64_t x, int64_t y) {
  const int64_t column = std::clamp<int64_t>(x, 0, plane.width - 1);
  const int64_t row = std::clamp<int64_t>(y, 0, plane.height - 1);
  return plane.pixels[row * 32 + column * plane.step];
}

uint8_t expected(const Plane& plane, const std::vector<float>& m, int x, int y) {
  const auto fx = static_cast<float>(x);
  const auto fy = static_cast<float>(y);
  const float w = m[6] * fx + m[7] * fy + m[8];
  const float scale = w != 0 ? 32.0f / w : 0.0f;
  const float across = std::rint((m[0] * fx + m[1] * fy + m[2]) * scale);
  const float down = std::rint((m[3] * fx + m[4] * fy + m[5]) * scale);
  const auto whole = [](float value) {
    return static_cast<int64_t>(std::clamp(value, -1e9f, 1e9f));
  };
  const int64_t column = static_cast<int64_t>(std::floor(static_cast<double>(whole(across)) / 32));
  const int64_t row = static_cast<int64_t>(std::floor(static_cast<double>(whole(down)) / 32));
  const double part_x = static_cast<double>(whole(across) - 32 * column) / 32;
  const double part_y = static_cast<double>(whole(down) - 32 * row) / 32;
  const auto weight = [](double part) {
    return std::min(static_cast<int64_t>(std::rint(part * 32768)), int64_t{32767});
  };
  const int64_t sum = at(plane, column, row) * weight((1 - part_y) * (1 - part_x)) +
                      at(plane, column + 1, row) * weight((1 - part_y) * part_x) +
                      at(plane, column, row + 1) * weight(part_y * (1 - part_x)) +
                      at(plane, column + 1, row + 1) * weight(part_y * part_x);
  return static_cast<uint8_t>((sum + 16384) >> 15);
}

std::vector<uint8_t> random_frame(std::mt19937& random) {
  std::vector<uint8_t> frame(layout().length);
  for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
  return frame;
}

std::vector<uint8_t> warped(WarpOutput output, const std::vector<uint8_t>& frame,
                            const Matrix3f& matrix) {
  const WarpSpec spec = spec_of(output);
  EXPECT_TRUE(check_warp(spec, layout()).ok());
  std::vector<uint8_t> out(spec.output_bytes());
  warp(spec, layout(), frame.data(), matrix, out.data());
  return out;
}

void expect_everywhere(const std::vector<uint8_t>& frame, const Matrix3f& matrix) {
  const std::vector<float> m(matrix.m.begin(), matrix.m.end());
  const Plane luma{frame.data(), kWidth, kHeight, 1};
  const auto plain = warped(WarpOutput::kLuma, frame, matrix);
  const auto planes = warped(WarpOutput::kYuv420Planes, frame, matrix);
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 16; ++x) {
      const uint8_t want = expected(luma, m, x, y);
      ASSERT_EQ(plain[y * 16 + x], want) << x << "," << y;
      const int plane = x % 2 * 2 + y % 2;
      ASSERT_EQ(planes[plane * 48 + y / 2 * 8 + x / 2], want) << x << "," << y;
    }
  }
  // S M S^-1 with S = diag(1/2, 1/2, 1).
  const std::vector<float> half = {m[0],     m[1],     m[2] / 2, m[3], m[4],
                                   m[5] / 2, m[6] * 2, m[7] * 2, m[8]};
  for (int k = 0; k < 2; ++k) {
    const Plane chroma{frame.data() + layout().uv_offset + k, kWidth / 2, kHeight / 2, 2};
    for (int y = 0; y < 6; ++y) {
      for (int x = 0; x < 8; ++x) {
        ASSERT_EQ(planes[(4 + k) * 48 + y * 8 + x], expected(chroma, half, x, y)) << k << x << y;
      }
    }
  }
}

TEST(BilinearWarp, EqualsTheRuleForManyMatrices) {
  std::mt19937 random(41);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 300; ++round) {
    const auto frame = random_frame(random);
    Matrix3f matrix;
    if (round % 2 == 0) {
      // Near what a camera does.
      matrix = {{1 + normal(random) / 4, normal(random) / 8, 4 * normal(random), normal(random) / 8,
                 1 + normal(random) / 4, 4 * normal(random), normal(random) / 200,
                 normal(random) / 200, 1}};
    } else {
      for (float& entry : matrix.m) entry = normal(random) * 8;
    }
    ASSERT_NO_FATAL_FAILURE(expect_everywhere(frame, matrix)) << "round " << round;
  }
}

TEST(BilinearWarp, HalfAPixelIsTheMeanRoundedUp) {
  std::vector<uint8_t> frame(layout().length);
  frame[0] = 10;
  frame[1] = 13;
  frame[32] = 20;
  frame[33] = 22;
  const Matrix3f half{{1, 0, 0.5f, 0, 1, 0.5f, 0, 0, 1}};
  EXPECT_EQ(warped(WarpOutput::kLuma, frame, half)[0], 16);  // 16.25
  const Matrix3f across{{1, 0, 0.5f, 0, 1, 0, 0, 0, 1}};
  EXPECT_EQ(warped(WarpOutput::kLuma, frame, across)[0], 12);  // 11.5
  // 1/64 is half of the smallest part: to even, so to nothing; 3/64 is one part and a half.
  const Matrix3f small{{1, 0, 1.0f / 64, 0, 1, 0, 0, 0, 1}};
  EXPECT_EQ(warped(WarpOutput::kLuma, frame, small)[0], 10);
}

TEST(BilinearWarp, EdgesAreClampedAndNoNumberIsNothing) {
  std::mt19937 random(42);
  const auto frame = random_frame(random);
  for (const float far : {-1e30f, -40.0f, 40.0f, 1e30f}) {
    expect_everywhere(frame, Matrix3f{{1, 0, far, 0, 1, far, 0, 0, 1}});
  }
  // No denominator: the first pixel of the plane.
  expect_everywhere(frame, Matrix3f{});
  const Matrix3f no_number{{std::nanf(""), 0, 0, 0, 1, 0, 0, 0, 1}};
  EXPECT_EQ(warped(WarpOutput::kLuma, frame, no_number), std::vector<uint8_t>(16 * 12));
}

TEST(BilinearWarp, KnowsNoFill) {
  WarpSpec spec = spec_of(WarpOutput::kLuma);
  spec.border_fill = 16;
  const Status status = check_warp(spec, layout());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().found, "fill 16");
}

}  // namespace
}  // namespace modeld
