#include "runtime/cpu/resize_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace modeld::cpu {
namespace {

// The position in the input that output position `x` stands for.
std::optional<double> source_of(const std::string& rule, double x, double scale, double in) {
  const double resized = scale * in;
  if (rule == "asymmetric") return x / scale;
  if (rule == "align_corners") return resized == 1 ? 0 : x * (in - 1) / (resized - 1);
  if (rule == "half_pixel" || (rule == "pytorch_half_pixel" && resized > 1)) {
    return (x + 0.5) / scale - 0.5;
  }
  return std::nullopt;
}

std::optional<double> nearest_of(const std::string& rule, double source) {
  if (rule == "floor") return std::floor(source);
  if (rule == "ceil") return std::ceil(source);
  if (rule == "round_prefer_ceil") return std::floor(source + 0.5);
  if (rule == "round_prefer_floor" || rule.empty()) return std::ceil(source - 0.5);
  return std::nullopt;
}

}  // namespace

bool plan_resize_axis(const Attributes& attributes, size_t axis, int64_t in, int64_t out,
                      ResizeAxis& plan) {
  const std::string mode = attributes.get_string("mode");
  const std::string rule = attributes.get_string("coordinate_transformation_mode");
  const double scale = attributes.get_floats("scales")[axis];
  if (mode != "nearest" && mode != "linear") return false;
  if (attributes.get_int("exclude_outside", 0) != 0 || attributes.has("roi")) return false;
  if (attributes.get_int("antialias", 0) != 0) return false;
  plan.taps = mode == "linear" ? 2 : 1;
  const auto last = static_cast<double>(in - 1);
  const auto add = [&](double index, double weight) {
    plan.table.push_back(
        {static_cast<int64_t>(std::clamp(index, 0.0, last)), static_cast<float>(weight)});
  };
  for (int64_t x = 0; x < out; ++x) {
    const bool untouched = scale == 1 && in == out;
    const auto source =
        untouched ? static_cast<double>(x)
                  : source_of(rule, static_cast<double>(x), scale, static_cast<double>(in));
    if (!source) return false;
    if (mode == "linear") {
      const double left = std::floor(*source);
      add(left, 1 - (*source - left));
      add(left + 1, *source - left);
      continue;
    }
    const auto nearest =
        untouched ? source : nearest_of(attributes.get_string("nearest_mode"), *source);
    if (!nearest) return false;
    add(*nearest, 1);
  }
  return true;
}

}  // namespace modeld::cpu
