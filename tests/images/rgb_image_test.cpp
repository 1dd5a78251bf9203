#include "tools/images/rgb_image.h"

#include <gtest/gtest.h>

#include <limits>

namespace modeld {
namespace {

RgbImage filled(uint32_t width, uint32_t height, auto value_at) {
  RgbImage image = make_image(width, height).value();
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      for (uint32_t c = 0; c < 3; ++c) {
        image.at(x, y)[c] = static_cast<uint8_t>(value_at(x, y, c));
      }
    }
  }
  return image;
}

TEST(RgbImage, RefusesSizesBeyondTheLimits) {
  constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
  const std::pair<uint32_t, uint32_t> refused[] = {
      {0, 4}, {4, 0}, {kMaxImageSide + 1, 1}, {1, kMaxImageSide + 1}, {kMax, kMax}, {16384, 16384}};
  for (const auto& [width, height] : refused) {
    const auto image = make_image(width, height);
    ASSERT_FALSE(image.ok()) << width << " x " << height;
    EXPECT_EQ(image.error().code, ErrorCode::kRefused);
    EXPECT_NE(image.error().found.find(std::to_string(width)), std::string::npos);
  }
  EXPECT_TRUE(make_image(kMaxImageSide, 2).ok());
}

TEST(RgbImage, CropTakesTheNamedRectangle) {
  const RgbImage image = filled(7, 5, [](auto x, auto y, auto c) { return 40 * y + 5 * x + c; });
  const auto part = crop(image, 2, 1, 4, 3);
  ASSERT_TRUE(part.ok());
  ASSERT_EQ(part->width, 4u);
  ASSERT_EQ(part->height, 3u);
  EXPECT_EQ(part->at(0, 0)[0], 40 + 10);
  EXPECT_EQ(part->at(3, 2)[2], 40 * 3 + 5 * 5 + 2);
}

TEST(RgbImage, CropOutsideIsRefusedAlsoWhereSumsWrap) {
  const RgbImage image = filled(8, 8, [](auto, auto, auto) { return 1; });
  constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
  EXPECT_FALSE(crop(image, 1, 0, 8, 8).ok());
  EXPECT_FALSE(crop(image, 0, 5, 2, 4).ok());
  EXPECT_FALSE(crop(image, kMax, 0, 2, 2).ok());
  EXPECT_FALSE(crop(image, 0, 2, 2, kMax).ok());
  EXPECT_FALSE(crop(image, 0, 0, 0, 2).ok());
}

TEST(RgbImage, ShrinkingAveragesAreas) {
  // Every 3 x 3 block holds one bright pixel: the mean is a ninth of it wherever it stands.
  const RgbImage image =
      filled(30, 12, [](auto x, auto y, auto c) { return x % 3 == y % 3 && x % 3 == c ? 252 : 0; });
  const auto small = scale(image, 10, 4);
  ASSERT_TRUE(small.ok());
  for (const uint8_t value : small->pixels) EXPECT_NEAR(value, 28, 1);
}

TEST(RgbImage, GrowingKeepsChannelsApart) {
  const RgbImage image = filled(4, 4, [](auto, auto, auto c) { return 50 + 60 * c; });
  const auto large = scale(image, 17, 9);
  ASSERT_TRUE(large.ok());
  ASSERT_EQ(large->pixels.size(), size_t{17} * 9 * 3);
  for (size_t i = 0; i < large->pixels.size(); ++i) {
    EXPECT_NEAR(large->pixels[i], 50 + 60 * static_cast<int>(i % 3), 1);
  }
  EXPECT_FALSE(scale(image, 0, 4).ok());
  EXPECT_FALSE(scale(image, kMaxImageSide, kMaxImageSide).ok());
}

}  // namespace
}  // namespace modeld
