#include "tools/feed/moving_picture.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <numbers>

#include "tools/images/to_nv12.h"

namespace modeld {
namespace {

// Frames per turn of the two axes; without a common divisor, so that the path is long.
constexpr double kTurnX = 97;
constexpr double kTurnY = 61;

// Even, 0 to `room`: chroma samples cover two pixels.
uint32_t offset(uint64_t step, double turn, uint32_t room) {
  const double angle = 2 * std::numbers::pi * std::fmod(static_cast<double>(step), turn) / turn;
  return static_cast<uint32_t>(room * (0.5 + 0.5 * std::sin(angle))) / 2 * 2;
}

uint32_t enlarged(uint32_t side) {
  return side / 8 * 9 / 2 * 2;
}

void copy_rows(const std::byte* from, uint32_t from_stride, std::byte* to, uint32_t to_stride,
               uint32_t width, uint32_t rows) {
  for (uint32_t row = 0; row < rows; ++row) {
    std::memcpy(to + size_t{row} * to_stride, from + size_t{row} * from_stride, width);
  }
}

}  // namespace

Result<MovingPicture> MovingPicture::create(const RgbImage& image, const Nv12Layout& frame) {
  MODELD_TRY(frame.check());
  const uint32_t width = enlarged(frame.width);
  const uint32_t height = enlarged(frame.height);
  MODELD_ASSIGN(const RgbImage large, scale(image, width, height));
  const uint64_t luma = uint64_t{width} * height;
  const Nv12Layout whole{width, height, width, luma, luma + luma / 2};
  MovingPicture picture(frame, whole);
  MODELD_TRY(to_nv12(large, whole,
                     {reinterpret_cast<uint8_t*>(picture.bytes_.data()), picture.bytes_.size()}));
  return picture;
}

void MovingPicture::write(uint64_t step, std::span<std::byte> buffer) const {
  assert(buffer.size() >= frame_.bytes_in_use());
  const uint32_t left = offset(step, kTurnX, whole_.width - frame_.width);
  const uint32_t top = offset(step, kTurnY, whole_.height - frame_.height);
  const std::byte* const luma = bytes_.data() + size_t{top} * whole_.stride + left;
  const std::byte* const chroma =
      bytes_.data() + whole_.uv_offset + size_t{top / 2} * whole_.stride + left;
  copy_rows(luma, whole_.stride, buffer.data(), frame_.stride, frame_.width, frame_.height);
  copy_rows(chroma, whole_.stride, buffer.data() + frame_.uv_offset, frame_.stride, frame_.width,
            frame_.height / 2);
}

}  // namespace modeld
