#include "runtime/reference/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace modeld::reference {
namespace {

// The attributes that decide one axis.
struct AxisRule {
  std::string mode;
  std::string coordinates;
  std::string nearest;
  double cubic_a = 0;
  bool exclude_outside = false;
  bool antialias = false;
  int64_t in = 0;
  int64_t out = 0;
  double scale = 1;
  double roi_start = 0;
  double roi_end = 1;
};

// Position in the input of output coordinate `x`.
double source_of(const AxisRule& rule, int64_t x) {
  const auto at = static_cast<double>(x);
  const auto in = static_cast<double>(rule.in);
  const double resized = rule.scale * in;  // before rounding down to the output's extent
  if (rule.coordinates == "asymmetric") return at / rule.scale;
  if (rule.coordinates == "align_corners") {
    return resized == 1 ? 0 : at * (in - 1) / (resized - 1);
  }
  if (rule.coordinates == "tf_crop_and_resize") {
    const double span = rule.roi_end - rule.roi_start;
    const double start = rule.roi_start * (in - 1);
    if (resized == 1) return start + span * (in - 1) / 2;
    return start + at * span * (in - 1) / (resized - 1);
  }
  if (rule.coordinates == "pytorch_half_pixel" && resized <= 1) return 0;
  if (rule.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / rule.scale;
  const double half_pixel = (at + 0.5) / rule.scale - 0.5;
  if (rule.coordinates != "half_pixel_symmetric") return half_pixel;
  const double adjustment = static_cast<double>(rule.out) / resized;
  return in / 2 * (1 - adjustment) + half_pixel;
}

double nearest_of(const AxisRule& rule, double source) {
  if (rule.nearest == "floor") return std::floor(source);
  if (rule.nearest == "ceil") return std::ceil(source);
  if (rule.nearest == "round_prefer_ceil") return std::floor(source + 0.5);
  return std::ceil(source - 0.5);
}

// Keys' cubic convolution kernel with parameter a, at distance `d` from the sample.
double cubic_weight(double a, double d) {
  d = std::fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

// Downsampling with antialias stretches the filter over all elements an output element covers.
double stretch_of(const AxisRule& rule) {
  return rule.antialias ? std::min(rule.scale, 1.0) : 1.0;
}

// Taps before clamping to the input; their indices may lie outside.
ResizeSample raw_sample(const AxisRule& rule, double source) {
  ResizeSample sample;
  if (rule.mode == "nearest") {
    sample.taps = {{static_cast<int64_t>(nearest_of(rule, source)), 1}};
    return sample;
  }
  const bool cubic = rule.mode == "cubic";
  const double stretch = stretch_of(rule);
  const double floor = std::floor(source);
  const double fraction = source - floor;
  const auto left = static_cast<int64_t>(floor);
  const auto first = static_cast<int64_t>(std::floor((cubic ? -2 : -1) / stretch)) + 1;
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double distance = (static_cast<double>(i) - fraction) * stretch;
    const double weight = cubic ? cubic_weight(rule.cubic_a, distance)
                                : std::clamp(1 - std::fabs(distance), 0.0, 1.0);
    sample.taps.push_back({left + i, weight});
    sum += weight;
  }
  if (stretch < 1) {
    for (ResizeTap& tap : sample.taps) tap.weight /= sum;
  }
  return sample;
}

// Weights of taps outside become 0 and the rest is scaled to the sum 1.
void drop_outside(const AxisRule& rule, ResizeSample& sample) {
  double sum = 0;
  for (ResizeTap& tap : sample.taps) {
    if (tap.index < 0 || tap.index >= rule.in) tap.weight = 0;
    sum += tap.weight;
  }
  for (ResizeTap& tap : sample.taps) tap.weight /= sum;
}

ResizeSample sample_of(const AxisRule& rule, int64_t x) {
  // Far outside coordinates clamp to the edge anyway; bounded before they become integers.
  const auto in = static_cast<double>(rule.in);
  const double source = source_of(rule, x);
  const double bounded = std::isnan(source) ? 0 : std::clamp(source, -8.0, in + 8);
  ResizeSample sample = raw_sample(rule, bounded);
  sample.outside = rule.coordinates == "tf_crop_and_resize" && !(source >= 0 && source <= in - 1);
  if (rule.exclude_outside && rule.mode != "nearest") drop_outside(rule, sample);
  for (ResizeTap& tap : sample.taps) tap.index = std::clamp<int64_t>(tap.index, 0, rule.in - 1);
  return sample;
}

AxisRule rule_of(const Attributes& attributes, const Shape& in, const Shape& out, size_t axis) {
  AxisRule rule;
  rule.mode = attributes.get_string("mode");
  rule.coordinates = attributes.get_string("coordinate_transformation_mode");
  rule.nearest = attributes.get_string("nearest_mode");
  rule.cubic_a = attributes.get_float("cubic_coeff_a", -0.75);
  rule.exclude_outside = attributes.get_int("exclude_outside") != 0;
  rule.antialias = attributes.get_int("antialias") != 0;
  rule.in = in[axis];
  rule.out = out[axis];
  rule.scale = attributes.get_floats("scales")[axis];
  if (const auto roi = attributes.get_floats("roi"); !roi.empty()) {
    rule.roi_start = roi[axis];
    rule.roi_end = roi[axis + roi.size() / 2];
  }
  return rule;
}

ResizeAxisPlan plan_axis(const AxisRule& rule) {
  ResizeAxisPlan plan;
  plan.extent = rule.in;
  for (int64_t x = 0; x < rule.out; ++x) {
    // An axis that keeps its size is not resampled.
    const bool untouched =
        rule.scale == 1 && rule.in == rule.out && rule.roi_start == 0 && rule.roi_end == 1;
    if (untouched) {
      plan.samples.push_back({{ResizeTap{x, 1}}, false});
    } else {
      plan.samples.push_back(sample_of(rule, x));
    }
  }
  return plan;
}

}  // namespace

std::vector<ResizeAxisPlan> plan_resize(const Attributes& attributes, const Shape& in,
                                        const Shape& out) {
  std::vector<ResizeAxisPlan> plans;
  for (size_t axis = 0; axis < out.size(); ++axis) {
    plans.push_back(plan_axis(rule_of(attributes, in, out, axis)));
  }
  return plans;
}

}  // namespace modeld::reference
