#include "tools/images/to_nv12.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace modeld {
namespace {

constexpr uint8_t kPadding = 0xee;

RgbImage plain(uint32_t width, uint32_t height, std::array<uint8_t, 3> colour) {
  RgbImage image = make_image(width, height).value();
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = colour[i % 3];
  return image;
}

// JFIF 1.02: Y = .299 R + .587 G + .114 B, Cb and Cr around 128, all full range.
TEST(ToNv12, ColoursFollowFullRangeBt601) {
  struct Case {
    std::array<uint8_t, 3> rgb;
    int y, u, v;
  };
  const Case cases[] = {{{0, 0, 0}, 0, 128, 128},         {{255, 255, 255}, 255, 128, 128},
                        {{128, 128, 128}, 128, 128, 128}, {{255, 0, 0}, 76, 85, 255},
                        {{0, 255, 0}, 150, 44, 21},       {{0, 0, 255}, 29, 255, 107}};
  const Nv12Layout layout{32, 8, 32, 256, 384};
  for (const Case& c : cases) {
    std::vector<uint8_t> frame(layout.length);
    ASSERT_TRUE(to_nv12(plain(32, 8, c.rgb), layout, frame).ok());
    for (size_t i = 0; i < 256; ++i) ASSERT_NEAR(frame[i], c.y, 2);
    for (size_t i = 256; i < 384; i += 2) {
      ASSERT_NEAR(frame[i], c.u, 2);
      ASSERT_NEAR(frame[i + 1], c.v, 2);
    }
  }
}

TEST(ToNv12, PaddingIsLeftAlone) {
  const Nv12Layout layout{34, 6, 48, 48 * 8, 48 * 12};
  std::vector<uint8_t> frame(layout.length, kPadding);
  ASSERT_TRUE(to_nv12(plain(34, 6, {0, 0, 0}), layout, frame).ok());
  for (size_t i = 0; i < frame.size(); ++i) {
    const size_t row = i / 48;
    const bool pixel = i % 48 < 34 && (row < 6 || (row >= 8 && row < 11));
    if (pixel) {
      ASSERT_NE(frame[i], kPadding) << i;
    } else {
      ASSERT_EQ(frame[i], kPadding) << i;
    }
  }
}

TEST(ToNv12, MismatchesAreNamed) {
  const Nv12Layout layout{32, 8, 32, 256, 384};
  std::vector<uint8_t> frame(layout.length);
  const auto other_size = to_nv12(plain(30, 8, {1, 2, 3}), layout, frame);
  ASSERT_FALSE(other_size.ok());
  EXPECT_EQ(other_size.error().expected, "32 x 8");
  EXPECT_EQ(other_size.error().found, "30 x 8");
  const auto shorter = to_nv12(plain(32, 8, {1, 2, 3}), layout, std::span(frame).first(383));
  ASSERT_FALSE(shorter.ok());
  EXPECT_EQ(shorter.error().found, "383 bytes");
  const Nv12Layout broken{32, 8, 16, 256, 384};
  EXPECT_FALSE(to_nv12(plain(32, 8, {1, 2, 3}), broken, frame).ok());
}

}  // namespace
}  // namespace modeld
