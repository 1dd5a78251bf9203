#include <algorithm>
#include <cmath>

#include "warp/row_kernels.h"

namespace modeld::warp_detail {
namespace {

bool inside(float value, float most) {
  return value >= 0.0f && value <= most;
}

}  // namespace

void sample_row_scalar(const SourcePlane& plane, const RowJob& job) {
  const auto& m = job.m;
  const float x_of_y = m[1] * job.y;
  const float y_of_y = m[4] * job.y;
  const float w_of_y = m[7] * job.y;
  for (uint32_t i = 0; i < job.count; ++i) {
    const float x = job.x_first + job.x_step * static_cast<float>(i);
    const float w = (m[6] * x + w_of_y) + m[8];
    const float source_x = std::nearbyint(((m[0] * x + x_of_y) + m[2]) / w);
    const float source_y = std::nearbyint(((m[3] * x + y_of_y) + m[5]) / w);
    uint8_t sample[2] = {0, 0};
    if (!std::isunordered(source_x, source_y)) {
      if (plane.fill && !(inside(source_x, plane.max_x) && inside(source_y, plane.max_y))) {
        sample[0] = sample[1] = plane.fill_value;
      } else {
        const auto column = static_cast<size_t>(std::clamp(source_x, 0.0f, plane.max_x));
        const auto row = static_cast<size_t>(std::clamp(source_y, 0.0f, plane.max_y));
        const uint8_t* at = plane.pixels + row * plane.pitch + column * plane.pixel_step;
        sample[0] = at[0];
        if (job.second != nullptr) sample[1] = at[1];
      }
    }
    job.first[i] = sample[0];
    if (job.second != nullptr) job.second[i] = sample[1];
  }
}

}  // namespace modeld::warp_detail
