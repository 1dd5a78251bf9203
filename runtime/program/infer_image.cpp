// Resize and Warp: pictures of another size.
#include <algorithm>
#include <cmath>

#include "runtime/program/infer_rules.h"
#include "warp/nv12_layout.h"

namespace modeld::infer {
namespace {

Status check_scales(const Call& call) {
  const std::vector<double> scales = call.attributes.get_floats("scales");
  if (scales.size() != call.shape(0).size()) {
    return wrong(call, "attribute scales", std::to_string(call.rank(0)) + " values",
                 std::to_string(scales.size()) + " values");
  }
  for (const double scale : scales) {
    if (std::isfinite(scale) && scale > 0) continue;
    return wrong(call, "attribute scales", "finite values above 0", std::to_string(scale));
  }
  return {};
}

// The region of interest belongs to tf_crop_and_resize and to nothing else.
Status check_roi(const Call& call) {
  const bool wanted =
      call.attributes.get_string("coordinate_transformation_mode") == "tf_crop_and_resize";
  const std::vector<double> roi = call.attributes.get_floats("roi");
  const size_t count = wanted ? 2 * call.shape(0).size() : 0;
  if (roi.size() != count) {
    return wrong(call, "attribute roi", std::to_string(count) + " values",
                 std::to_string(roi.size()) + " values");
  }
  for (const double value : roi) {
    if (!std::isfinite(value)) return wrong(call, "attribute roi", "finite values", "not finite");
  }
  return {};
}

Status check_resize_modes(const Call& call) {
  MODELD_TRY(need_one_of(call, "mode", {"nearest", "linear", "cubic"}));
  MODELD_TRY(
      need_one_of(call, "coordinate_transformation_mode",
                  {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                   "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  if (call.attributes.get_string("mode") == "nearest") {
    MODELD_TRY(need_one_of(call, "nearest_mode",
                           {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  }
  if (call.attributes.has("cubic_coeff_a")) {
    MODELD_TRY(need_finite(call, "cubic_coeff_a", -1e6));
  }
  MODELD_TRY(flag_of(call, "exclude_outside"));
  MODELD_TRY(flag_of(call, "antialias"));
  return check_roi(call);
}

}  // namespace

Result<Types> infer_resize(const Call& call) {
  MODELD_TRY(need_numeric(call, 0));
  MODELD_TRY(check_resize_modes(call));
  MODELD_TRY(check_scales(call));
  MODELD_ASSIGN(Shape sizes, ints_of(call, "sizes", call.shape(0).size(), 0));
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (call.shape(0)[axis] != 0 || sizes[axis] == 0) continue;
    return wrong(call, "input 0", "elements to sample from", to_string(call.in(0)));
  }
  if (call.attributes.get_int("antialias") != 0) {
    const std::vector<double> scales = call.attributes.get_floats("scales");
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      // Elements read along an axis, all results together.
      constexpr double kMostTaps = 1 << 28;
      const double taps = 4 * static_cast<double>(sizes[axis]) / std::min(scales[axis], 1.0);
      if (taps <= kMostTaps) continue;
      return wrong(call, "attribute scales", "sizes that belong to the scales",
                   to_string(sizes) + " by " + std::to_string(scales[axis]));
    }
  }
  return Types{{call.in(0).dtype, std::move(sizes)}};
}

Result<Types> infer_warp(const Call& call) {
  if (call.in(0) != TensorType{DType::kNv12, {}}) {
    return wrong(call, "input 0", "nv12[]", to_string(call.in(0)));
  }
  if (call.in(1) != TensorType{DType::kFloat32, {3, 3}}) {
    return wrong(call, "input 1", "f32[3,3]", to_string(call.in(1)));
  }
  MODELD_TRY(need_one_of(call, "layout", {"yuv420_planes", "luma"}));
  MODELD_ASSIGN(const int64_t width, int_of(call, "out_width", 1, kMaxNv12Side));
  MODELD_ASSIGN(const int64_t height, int_of(call, "out_height", 1, kMaxNv12Side));
  MODELD_TRY(int_of(call, "border_fill", 0, 255));
  if (call.attributes.has("filter")) {
    MODELD_TRY(need_one_of(call, "filter", {"nearest", "bilinear"}));
    if (call.attributes.get_string("filter") == "bilinear" && call.attributes.has("border_fill")) {
      return wrong(call, "attribute border_fill", "nothing with a bilinear filter", "a value");
    }
  }
  if (call.attributes.get_string("layout") == "luma") {
    return Types{{DType::kUInt8, {height, width}}};
  }
  if (width % 2 != 0 || height % 2 != 0) {
    return wrong(call, "attributes out_width, out_height", "even sides",
                 std::to_string(width) + " x " + std::to_string(height));
  }
  return Types{{DType::kUInt8, {6, height / 2, width / 2}}};
}

}  // namespace modeld::infer
