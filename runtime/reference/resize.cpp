// Resize: each output element is a weighted sum of input elements, the weights a product over the
// axes. Formulas: ONNX operator documentation, Resize, opset 18.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "runtime/reference/kernel.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

constexpr int64_t kMaxAxis = int64_t{1} << 24;
constexpr size_t kMaxTaps = 4;

struct Tap {
  int64_t index = 0;
  double weight = 0;
};

// What one output coordinate of an axis reads.
struct Sample {
  std::array<Tap, kMaxTaps> taps;
  size_t count = 0;
  bool outside = false;  // tf_crop_and_resize: the extrapolation value instead
};

// One axis of the resize.
struct AxisPlan {
  int64_t extent = 0;  // of the input
  std::vector<Sample> samples;
};

// The attributes that decide one axis.
struct AxisRule {
  std::string mode;
  std::string coordinates;
  std::string nearest;
  double cubic_a = 0;
  bool exclude_outside = false;
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

// Taps before clamping to the input; their indices may lie outside.
Sample raw_sample(const AxisRule& rule, double source) {
  Sample sample;
  if (rule.mode == "nearest") {
    sample.taps[0] = {static_cast<int64_t>(nearest_of(rule, source)), 1};
    sample.count = 1;
    return sample;
  }
  const double floor = std::floor(source);
  const double fraction = source - floor;
  const auto left = static_cast<int64_t>(floor);
  if (rule.mode == "linear") {
    sample.taps[0] = {left, 1 - fraction};
    sample.taps[1] = {left + 1, fraction};
    sample.count = 2;
    return sample;
  }
  for (int64_t i = 0; i < 4; ++i) {
    const double distance = fraction + 1 - static_cast<double>(i);
    sample.taps[static_cast<size_t>(i)] = {left - 1 + i, cubic_weight(rule.cubic_a, distance)};
  }
  sample.count = 4;
  return sample;
}

// Weights of taps outside become 0 and the rest is scaled to the sum 1.
void drop_outside(const AxisRule& rule, Sample& sample) {
  double sum = 0;
  for (size_t i = 0; i < sample.count; ++i) {
    Tap& tap = sample.taps[i];
    if (tap.index < 0 || tap.index >= rule.in) tap.weight = 0;
    sum += tap.weight;
  }
  for (size_t i = 0; i < sample.count; ++i) sample.taps[i].weight /= sum;
}

Sample sample_of(const AxisRule& rule, int64_t x) {
  // Far outside coordinates clamp to the edge anyway; bounded before they become integers.
  const auto in = static_cast<double>(rule.in);
  const double source = source_of(rule, x);
  const double bounded = std::isnan(source) ? 0 : std::clamp(source, -8.0, in + 8);
  Sample sample = raw_sample(rule, bounded);
  sample.outside = rule.coordinates == "tf_crop_and_resize" && !(source >= 0 && source <= in - 1);
  if (rule.exclude_outside && rule.mode != "nearest") drop_outside(rule, sample);
  for (Tap& tap : sample.taps) tap.index = std::clamp<int64_t>(tap.index, 0, rule.in - 1);
  return sample;
}

AxisRule rule_of(const KernelSpec& spec, size_t axis) {
  const Attributes& attributes = spec.attributes;
  AxisRule rule;
  rule.mode = attributes.get_string("mode");
  rule.coordinates = attributes.get_string("coordinate_transformation_mode");
  rule.nearest = attributes.get_string("nearest_mode");
  rule.cubic_a = attributes.get_float("cubic_coeff_a", -0.75);
  rule.exclude_outside = attributes.get_int("exclude_outside") != 0;
  rule.in = spec.in(0).shape[axis];
  rule.out = spec.out().shape[axis];
  rule.scale = attributes.get_floats("scales")[axis];
  if (const auto roi = attributes.get_floats("roi"); !roi.empty()) {
    rule.roi_start = roi[axis];
    rule.roi_end = roi[axis + roi.size() / 2];
  }
  return rule;
}

AxisPlan plan_axis(const AxisRule& rule) {
  AxisPlan plan;
  plan.extent = rule.in;
  for (int64_t x = 0; x < rule.out; ++x) {
    // An axis that keeps its size is not resampled.
    const bool untouched =
        rule.scale == 1 && rule.in == rule.out && rule.roi_start == 0 && rule.roi_end == 1;
    if (untouched) {
      plan.samples.push_back({{Tap{x, 1}}, 1, false});
    } else {
      plan.samples.push_back(sample_of(rule, x));
    }
  }
  return plan;
}

class Resize final : public Kernel {
 public:
  explicit Resize(const KernelSpec& spec)
      : dtype_(spec.in(0).dtype),
        extrapolation_(spec.attributes.get_float("extrapolation_value")),
        shape_(spec.out().shape),
        input_(static_cast<size_t>(spec.in(0).elements())),
        index_(shape_.size()) {
    for (size_t axis = 0; axis < shape_.size(); ++axis) {
      plans_.push_back(plan_axis(rule_of(spec, axis)));
    }
    count_ = static_cast<size_t>(spec.out().elements());
  }

  void run(const KernelIo& io) override {
    load(dtype_, io.inputs[0], input_.data(), input_.size());
    std::fill(index_.begin(), index_.end(), 0);
    double row[kChunk];
    for (size_t at = 0; at < count_; at += kChunk) {
      const size_t length = std::min(kChunk, count_ - at);
      for (size_t i = 0; i < length; ++i) {
        row[i] = outside() ? extrapolation_ : weighted_sum(0, 0);
        advance();
      }
      store(dtype_, row, io.outputs[0] + at * size_of(dtype_), length);
    }
  }

 private:
  bool outside() const {
    for (size_t axis = 0; axis < plans_.size(); ++axis) {
      if (plans_[axis].samples[index_[axis]].outside) return true;
    }
    return false;
  }

  double weighted_sum(size_t axis, int64_t flat) const {
    if (axis == plans_.size()) return input_[static_cast<size_t>(flat)];
    const AxisPlan& plan = plans_[axis];
    const Sample& sample = plan.samples[index_[axis]];
    const int64_t base = flat * plan.extent;
    double sum = 0;
    for (size_t i = 0; i < sample.count; ++i) {
      const Tap& tap = sample.taps[i];
      // A tap without weight must not turn an infinity elsewhere into NaN.
      if (tap.weight != 0) sum += tap.weight * weighted_sum(axis + 1, base + tap.index);
    }
    return sum;
  }

  void advance() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      if (++index_[axis] < static_cast<size_t>(shape_[axis])) return;
      index_[axis] = 0;
    }
  }

  const DType dtype_;
  const double extrapolation_;
  const Shape shape_;
  std::vector<AxisPlan> plans_;
  std::vector<double> input_;
  std::vector<size_t> index_;
  size_t count_ = 0;
};

}  // namespace

Result<KernelPointer> make_resize_kernel(const KernelSpec& spec) {
  for (const int64_t extent : spec.out().shape) {
    if (extent <= kMaxAxis) continue;
    return Error(ErrorCode::kUnsupported, "reference: Resize")
        .expecting("axes of at most " + std::to_string(kMaxAxis), std::to_string(extent));
  }
  return KernelPointer(std::make_unique<Resize>(spec));
}

}  // namespace modeld::reference
