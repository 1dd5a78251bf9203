#include "tools/feed/moving_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tools/images/draw.h"

namespace modeld {
namespace {

constexpr uint32_t kWidth = 320;
constexpr uint32_t kHeight = 160;

std::vector<std::byte> frame_of(const MovingPicture& picture, const Nv12Layout& layout,
                                uint64_t step) {
  std::vector<std::byte> bytes(layout.length, std::byte{0xEE});
  picture.write(step, bytes);
  return bytes;
}

TEST(MovingPicture, FramesDifferAndAreRepeatable) {
  const Nv12Layout layout = *Nv12Layout::openpilot(kWidth, kHeight);
  const auto picture = MovingPicture::create(*draw_road_scene(640, 400), layout);
  ASSERT_TRUE(picture.ok()) << to_string(picture.error());
  std::set<std::vector<std::byte>> different;
  for (uint64_t step = 0; step < 40; ++step) different.insert(frame_of(*picture, layout, step));
  EXPECT_GE(different.size(), 15u);
  EXPECT_EQ(frame_of(*picture, layout, 7), frame_of(*picture, layout, 7));
}

// A gradient whose value equals its column: the window's left edge can be read off the pixels, and
// chroma must come from the same place.
TEST(MovingPicture, IsAWindowOfOnePicture) {
  RgbImage flat = *make_image(kWidth, kHeight);
  for (uint32_t y = 0; y < kHeight; ++y) {
    for (uint32_t x = 0; x < kWidth; ++x) {
      std::fill_n(flat.at(x, y), 3, static_cast<uint8_t>(x * 200 / kWidth));
    }
  }
  const Nv12Layout layout = *Nv12Layout::openpilot(kWidth, kHeight);
  const auto picture = MovingPicture::create(flat, layout);
  ASSERT_TRUE(picture.ok());
  std::set<int> left_edges;
  for (uint64_t step = 0; step < 100; ++step) {
    const auto bytes = frame_of(*picture, layout, step);
    const auto luma = [&](uint32_t x, uint32_t y) {
      return static_cast<int>(bytes[size_t{y} * layout.stride + x]);
    };
    left_edges.insert(luma(0, 0));
    for (uint32_t x = 1; x < kWidth; ++x) ASSERT_GE(luma(x, 10), luma(x - 1, 10));
    // Grey has no colour, wherever the window is.
    for (uint32_t x = 0; x < kWidth; ++x) {
      ASSERT_NEAR(static_cast<int>(bytes[layout.uv_offset + 5 * size_t{layout.stride} + x]), 128,
                  1);
    }
  }
  EXPECT_GE(left_edges.size(), 5u);
}

TEST(MovingPicture, LeavesPaddingAlone) {
  const Nv12Layout layout{kWidth, kHeight, kWidth + 64, uint64_t{kWidth + 64} * kHeight + 128,
                          uint64_t{kWidth + 64} * kHeight * 3 / 2 + 128};
  const auto picture = MovingPicture::create(*draw_cabin_scene(kWidth, kHeight), layout);
  ASSERT_TRUE(picture.ok());
  const auto bytes = frame_of(*picture, layout, 3);
  for (uint32_t y = 0; y < kHeight; ++y) {
    for (uint32_t x = kWidth; x < layout.stride; ++x) {
      ASSERT_EQ(bytes[size_t{y} * layout.stride + x], std::byte{0xEE});
    }
  }
}

}  // namespace
}  // namespace modeld
