#include "tests/samples/picture_inputs.h"

#include <algorithm>

#include "tests/support/must.h"
#include "tests/support/test_data.h"
#include "tools/images/draw.h"
#include "tools/images/image_file.h"
#include "tools/images/to_nv12.h"

namespace modeld::test {
namespace {

// The part of a picture from (x, y) with `zoom` times its size, all as fractions.
struct View {
  double x = 0;
  double y = 0;
  double zoom = 1;
  double exposure = 1;
};

RgbImage seen(const RgbImage& image, const View& view) {
  const auto part = [](double fraction, uint32_t side) {
    return static_cast<uint32_t>(fraction * side);
  };
  RgbImage out = must(crop(image, part(view.x, image.width), part(view.y, image.height),
                           part(view.zoom, image.width), part(view.zoom, image.height)));
  for (uint8_t& value : out.pixels) {
    value = static_cast<uint8_t>(std::min(255.0, value * view.exposure));
  }
  return out;
}

// The largest middle part with these proportions, scaled.
RgbImage framed(const RgbImage& image, uint32_t width, uint32_t height) {
  const uint32_t wide = std::min(image.width, image.height * width / height);
  const uint32_t high = std::min(image.height, image.width * height / width);
  return must(
      scale(must(crop(image, (image.width - wide) / 2, (image.height - high) / 2, wide, high)),
            width, height));
}

std::vector<uint8_t> nv12(const RgbImage& image) {
  const uint32_t luma = image.width * image.height;
  const Nv12Layout layout{image.width, image.height, image.width, luma, uint64_t{luma} * 3 / 2};
  std::vector<uint8_t> frame(layout.length);
  must(to_nv12(image, layout, frame));
  return frame;
}

// Six planes 128 x 256: luma (even, even), (odd row, even), (even, odd column), (odd, odd), U, V.
void append_planes(std::vector<uint8_t>& out, const RgbImage& image) {
  const std::vector<uint8_t> frame = nv12(image);
  constexpr size_t kWidth = 512;
  constexpr size_t kHeight = 256;
  for (const auto& [row, column] : {std::pair<size_t, size_t>{0, 0}, {1, 0}, {0, 1}, {1, 1}}) {
    for (size_t y = row; y < kHeight; y += 2) {
      for (size_t x = column; x < kWidth; x += 2) out.push_back(frame[y * kWidth + x]);
    }
  }
  for (size_t part = 0; part < 2; ++part) {
    for (size_t i = kWidth * kHeight + part; i < frame.size(); i += 2) out.push_back(frame[i]);
  }
}

}  // namespace

std::vector<RgbImage> ten_recorded_pictures() {
  const auto road = must(load_image(shared_path("data/road-frames/tici_road_1928x1208.jpg")));
  const auto comma = must(load_image(shared_path("data/comma2k19/preview.png")));
  const auto other = must(load_image(shared_path("data/comma2k19/frame600_downscaled.png")));
  const auto astronaut = must(load_image(shared_path("data/portraits/astronaut.png")));
  const auto hopper = must(load_image(shared_path("data/portraits/grace_hopper.jpg")));
  return {road,
          seen(road, {0.0, 0.2, 0.5}),
          seen(road, {0.45, 0.3, 0.5}),
          seen(road, {0.1, 0.1, 0.8, 0.5}),
          comma,
          seen(comma, {0.3, 0.3, 0.5}),
          other,
          astronaut,
          hopper,
          seen(hopper, {0.2, 0.1, 0.6, 1.3})};
}

std::vector<RgbImage> ten_drawn_pictures() {
  const auto road = must(draw_road_scene(964, 604));
  const auto cabin = must(draw_cabin_scene(964, 604));
  return {road,
          seen(road, {0.25, 0.25, 0.5}),
          seen(road, {0.0, 0.3, 0.6}),
          seen(road, {0.4, 0.1, 0.6}),
          seen(road, {0.1, 0.1, 0.8, 0.5}),
          cabin,
          seen(cabin, {0.4, 0.1, 0.5}),
          seen(cabin, {0.0, 0.2, 0.5}),
          seen(cabin, {0.2, 0.0, 0.7, 1.5}),
          seen(cabin, {0.5, 0.3, 0.4})};
}

std::vector<uint8_t> driving_planes(const RgbImage& picture) {
  constexpr uint32_t kShift = 4;
  const RgbImage view = framed(picture, 512 + 2 * kShift, 256 + kShift);
  std::vector<uint8_t> planes;
  append_planes(planes, must(crop(view, kShift, kShift, 512, 256)));
  append_planes(planes, must(crop(view, 2 * kShift, 0, 512, 256)));
  return planes;
}

std::vector<uint8_t> monitoring_luma(const RgbImage& picture) {
  std::vector<uint8_t> frame = nv12(framed(picture, 1440, 960));
  frame.resize(size_t{1440} * 960);
  return frame;
}

}  // namespace modeld::test
