#include "tools/samples/head_plan.h"

#include <cassert>

namespace modeld::samples {

void HeadPlan::set(size_t index, double centre, double deviation) {
  assert(index < elements_.size());
  elements_[index] = {{static_cast<float>(centre), static_cast<float>(deviation), 0}, curves_++};
}

void HeadPlan::set_curve(size_t first, size_t step, std::span<const HeadPoint> points) {
  assert(!points.empty() && first + step * (points.size() - 1) < elements_.size());
  for (size_t i = 0; i < points.size(); ++i) elements_[first + i * step] = {points[i], curves_};
  ++curves_;
}

void HeadPlan::fill(size_t first, size_t count, double centre, double deviation) {
  for (size_t i = 0; i < count; ++i) set(first + i, centre, deviation);
}

}  // namespace modeld::samples
