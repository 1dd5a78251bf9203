#include "daemon/driving/drop_filter.h"

#include <algorithm>

#include "daemon/driving/constants.h"

namespace modeld::driving {
namespace {

constexpr double kTimeConstant = 10.0;  // s
constexpr double kAlpha = kModelDt / (kTimeConstant + kModelDt);
constexpr int64_t kMostCounted = 10;
constexpr uint32_t kWarmUpRuns = 10;  // drops while starting say nothing

}  // namespace

void DropFilter::update(uint32_t frame_id) {
  const int64_t gap = static_cast<int64_t>(frame_id) - static_cast<int64_t>(last_frame_id_) - 1;
  dropped_ = std::max<int64_t>(0, gap);
  last_frame_id_ = frame_id;
  const auto counted = static_cast<double>(std::min(dropped_, kMostCounted));
  filtered_ = (1.0 - kAlpha) * filtered_ + kAlpha * counted;
  if (runs_ < kWarmUpRuns) {
    ++runs_;
    filtered_ = 0.0;
  }
}

double DropFilter::ratio() const {
  return filtered_ / (1.0 + filtered_);
}

}  // namespace modeld::driving
