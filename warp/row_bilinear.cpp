#include <algorithm>
#include <cmath>

#include "warp/row_kernels.h"

namespace modeld::warp_detail {
namespace {

// Coordinates count 32nds of a source pixel.
constexpr int32_t kParts = 32;

// A step beyond the plane on either side everything is the edge's pixel: what lies further out is
// brought there, so that it fits into an integer.
int32_t to_parts(float value, float most) {
  return static_cast<int32_t>(std::clamp(value, -2.0f * kParts, (most + 2.0f) * kParts));
}

struct Place {
  size_t first = 0;  // the pixels on both sides
  size_t second = 0;
  uint32_t part = 0;  // how much of the second, in 32nds
};

Place place_of(int32_t parts, int32_t most) {
  const int32_t pixel = parts >> 5;
  return {static_cast<size_t>(std::clamp(pixel, 0, most)),
          static_cast<size_t>(std::clamp(pixel + 1, 0, most)),
          static_cast<uint32_t>(parts & (kParts - 1))};
}

}  // namespace

void sample_row_bilinear(const SourcePlane& plane, const RowJob& job) {
  const auto& m = job.m;
  const float x_of_y = m[1] * job.y;
  const float y_of_y = m[4] * job.y;
  const float w_of_y = m[7] * job.y;
  for (uint32_t i = 0; i < job.count; ++i) {
    const float x = job.x_first + job.x_step * static_cast<float>(i);
    const float w = (m[6] * x + w_of_y) + m[8];
    const float scale = w != 0.0f ? static_cast<float>(kParts) / w : 0.0f;
    const float source_x = std::nearbyint(((m[0] * x + x_of_y) + m[2]) * scale);
    const float source_y = std::nearbyint(((m[3] * x + y_of_y) + m[5]) * scale);
    uint8_t sample[2] = {0, 0};
    if (!std::isunordered(source_x, source_y)) {
      const Place across =
          place_of(to_parts(source_x, plane.max_x), static_cast<int32_t>(plane.max_x));
      const Place down =
          place_of(to_parts(source_y, plane.max_y), static_cast<int32_t>(plane.max_y));
      const uint8_t* const above = plane.pixels + down.first * plane.pitch;
      const uint8_t* const below = plane.pixels + down.second * plane.pitch;
      const size_t left = across.first * plane.pixel_step;
      const size_t right = across.second * plane.pixel_step;
      for (size_t k = 0; k < (job.second != nullptr ? 2u : 1u); ++k) {
        const uint32_t high =
            (kParts - across.part) * above[left + k] + across.part * above[right + k];
        const uint32_t low =
            (kParts - across.part) * below[left + k] + across.part * below[right + k];
        sample[k] =
            static_cast<uint8_t>(((kParts - down.part) * high + down.part * low + 512) >> 10);
      }
    }
    job.first[i] = sample[0];
    if (job.second != nullptr) job.second[i] = sample[1];
  }
}

}  // namespace modeld::warp_detail
