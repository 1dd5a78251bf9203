#include "tools/images/draw.h"

#include <gtest/gtest.h>

#include <cmath>

namespace modeld {
namespace {

constexpr uint32_t kWidth = 964;
constexpr uint32_t kHeight = 604;

int brightness(const RgbImage& image, double x, double y) {
  const uint8_t* pixel = image.at(static_cast<uint32_t>(x), static_cast<uint32_t>(y));
  return pixel[0] + pixel[1] + pixel[2];
}

TEST(Draw, SameOnEveryCall) {
  EXPECT_EQ(draw_road_scene(241, 151)->pixels, draw_road_scene(241, 151)->pixels);
  EXPECT_EQ(draw_cabin_scene(241, 151)->pixels, draw_cabin_scene(241, 151)->pixels);
  EXPECT_NE(draw_road_scene(241, 151)->pixels, draw_cabin_scene(241, 151)->pixels);
}

// A pinhole camera 1.22 m above the road, focal length one picture width, horizon at .45: the solid
// line 5.4 m to the right is bright, the road half a metre beside it is not.
TEST(Draw, LaneLineLiesWhereTheCameraSeesIt) {
  const auto image = draw_road_scene(kWidth, kHeight);
  ASSERT_TRUE(image.ok());
  for (const double distance : {12.0, 14.0, 16.0, 18.0}) {
    const double y = 0.45 * kHeight + kWidth * 1.22 / distance;
    const auto x = [&](double side) { return kWidth * (0.5 + side / distance); };
    const double bend = 0.0004 * distance * distance;
    EXPECT_GT(brightness(*image, x(5.4 + bend), y), 480) << distance;
    EXPECT_LT(brightness(*image, x(4.9 + bend), y), 400) << distance;
    EXPECT_LT(brightness(*image, x(5.9 + bend), y), 400) << distance;
  }
}

TEST(Draw, SkyIsBlueAndGrassIsGreen) {
  const auto image = draw_road_scene(kWidth, kHeight);
  ASSERT_TRUE(image.ok());
  const uint8_t* grass = image->at(20, 300);
  EXPECT_GT(grass[1], grass[0]);
  EXPECT_GT(grass[1], grass[2]);
  const uint8_t* sky = image->at(600, 30);
  EXPECT_GT(sky[2], sky[0]);
}

TEST(Draw, DriverHasAFaceAndTheOtherSeatIsEmpty) {
  const auto image = draw_cabin_scene(kWidth, kHeight);
  ASSERT_TRUE(image.ok());
  // 0.3 heights right of the middle, level with the nose; skin is redder than blue.
  const uint8_t* face = image->at(kWidth / 2 + kHeight * 3 / 10 - 20, kHeight * 44 / 100 + 12);
  EXPECT_GT(face[0], face[2] + 40);
  const uint8_t* seat = image->at(kWidth / 2 - kHeight * 42 / 100, kHeight * 44 / 100);
  EXPECT_LT(std::abs(seat[0] - seat[2]), 12);
}

TEST(Draw, RefusesWhatNoPictureCanBe) {
  EXPECT_FALSE(draw_road_scene(0, 10).ok());
  EXPECT_FALSE(draw_cabin_scene(kMaxImageSide, kMaxImageSide).ok());
}

}  // namespace
}  // namespace modeld
