// Convolutions and pools: a window of taps slides over the spatial axes.
#include <algorithm>

#include "runtime/program/infer_rules.h"

namespace modeld::infer {
namespace {

struct Window {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> pads;
  std::vector<int64_t> dilations;

  size_t axes() const { return kernel.size(); }
  int64_t pad(size_t axis) const { return pads[axis] + pads[axes() + axis]; }
  // Extent from the first tap to the last.
  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

Result<Window> window_of(const Call& call, std::vector<int64_t> kernel) {
  Window window;
  const size_t axes = kernel.size();
  for (const int64_t extent : kernel) {
    if (extent < 1) return wrong(call, "kernel", "extents of 1 or more", std::to_string(extent));
  }
  window.kernel = std::move(kernel);
  MODELD_ASSIGN(window.strides, ints_of(call, "strides", axes, 1));
  MODELD_ASSIGN(window.pads, ints_of(call, "pads", 2 * axes, 0));
  MODELD_ASSIGN(window.dilations, ints_of(call, "dilations", axes, 1));
  return window;
}

// How often the window fits. With `ceil` a last, partly outside window counts too, unless it would
// start behind the input and its leading padding.
Result<int64_t> placements(const Call& call, const Window& window, size_t axis, int64_t extent,
                           bool ceil) {
  const int64_t padded = extent + window.pad(axis);
  const int64_t room = padded - window.reach(axis);
  if (room < 0) {
    return wrong(call, "input 0",
                 "a padded extent of at least " + std::to_string(window.reach(axis)) +
                     " on spatial axis " + std::to_string(axis),
                 std::to_string(padded));
  }
  const int64_t stride = window.strides[axis];
  if (!ceil) return room / stride + 1;
  const int64_t count = room / stride + (room % stride != 0 ? 1 : 0) + 1;
  return (count - 1) * stride >= extent + window.pads[axis] ? count - 1 : count;
}

// Integers for floats: each operand i8 or u8, each zero point of its operand's type, one value or,
// for the weights, one per output channel.
Status check_integer_convolution(const Call& call) {
  for (size_t i = 0; i < 2; ++i) {
    const DType dtype = call.in(i).dtype;
    if (dtype != DType::kInt8 && dtype != DType::kUInt8) {
      return wrong(call, "input " + std::to_string(i), "i8 or u8", to_string(call.in(i)));
    }
    if (!call.has(i + 2)) continue;
    const TensorType& zero = call.in(i + 2);
    const bool per_channel = i == 1 && zero.shape == Shape{call.shape(1)[0]};
    if (zero.dtype == dtype && (zero.shape.empty() || per_channel)) continue;
    return wrong(call, "input " + std::to_string(i + 2),
                 "a zero point of type " + std::string(to_string(dtype)), to_string(zero));
  }
  return {};
}

Status check_convolution(const Call& call) {
  if (call.kind == OpKind::kConvInteger) {
    MODELD_TRY(need_rank_at_least(call, 0, 3));
    MODELD_TRY(need_rank(call, 1, call.rank(0)));
    return check_integer_convolution(call);
  }
  MODELD_TRY(need_float(call, 0));
  MODELD_TRY(need_one_dtype(call));
  MODELD_TRY(check_activation(call));
  MODELD_TRY(need_rank_at_least(call, 0, 3));
  return need_rank(call, 1, call.rank(0));
}

// The channels of input 0 are those the weights want, and `split` divides evenly into groups.
Status check_channels(const Call& call, int64_t wanted, int64_t split, int64_t group) {
  if (call.shape(0)[1] != wanted) {
    return wrong(call, "input 0",
                 std::to_string(wanted) + " channels for weights " + to_string(call.in(1)) +
                     " in " + std::to_string(group) + " groups",
                 to_string(call.in(0)));
  }
  if (split % group == 0) return {};
  return wrong(call, "attribute group", "a divisor of " + std::to_string(split),
               std::to_string(group));
}

Result<Types> infer_conv(const Call& call) {
  MODELD_TRY(check_convolution(call));
  MODELD_ASSIGN(const int64_t group, int_of(call, "group", 1, kMaxExtent));
  const Shape& x = call.shape(0);
  const Shape& w = call.shape(1);
  MODELD_TRY(check_channels(call, w[1] * group, w[0], group));
  MODELD_ASSIGN(const Window window, window_of(call, {w.begin() + 2, w.end()}));
  Shape out = {x[0], w[0]};
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    MODELD_ASSIGN(const int64_t count, placements(call, window, axis, x[axis + 2], false));
    out.push_back(count);
  }
  if (call.kind == OpKind::kConvInteger) return Types{{DType::kInt32, std::move(out)}};
  if (call.has(2)) MODELD_TRY(need_shape(call, 2, {w[0]}));
  if (call.has(3)) MODELD_TRY(need_shape(call, 3, out));
  return Types{{call.in(0).dtype, std::move(out)}};
}

// Weights are (channels in, channels out / group, kernel...).
Result<Types> infer_conv_transpose(const Call& call) {
  MODELD_TRY(check_convolution(call));
  MODELD_ASSIGN(const int64_t group, int_of(call, "group", 1, kMaxExtent));
  const Shape& x = call.shape(0);
  const Shape& w = call.shape(1);
  MODELD_TRY(check_channels(call, w[0], w[0], group));
  MODELD_ASSIGN(const Window window, window_of(call, {w.begin() + 2, w.end()}));
  MODELD_ASSIGN(const auto extra, ints_of(call, "output_padding", window.axes(), 0));
  Shape out = {x[0], w[1] * group};
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const int64_t stride = window.strides[axis];
    if (extra[axis] >= std::max(stride, window.dilations[axis])) {
      return wrong(call, "attribute output_padding", "less than stride or dilation",
                   std::to_string(extra[axis]));
    }
    const int64_t full = (x[axis + 2] - 1) * stride + window.reach(axis) + extra[axis];
    const int64_t extent = full - window.pad(axis);
    if (x[axis + 2] < 1 || extent < 1) {
      return wrong(call, "attribute pads",
                   "fewer than the " + std::to_string(full) + " elements of spatial axis " +
                       std::to_string(axis),
                   std::to_string(window.pad(axis)));
    }
    out.push_back(extent);
  }
  if (call.has(2)) MODELD_TRY(need_shape(call, 2, {out[1]}));
  return Types{{call.in(0).dtype, std::move(out)}};
}

Status check_pool_dtype(const Call& call) {
  const DType dtype = call.in(0).dtype;
  if (call.kind == OpKind::kMaxPool && (dtype == DType::kInt8 || dtype == DType::kUInt8)) return {};
  return need_float(call, 0);
}

Result<Types> infer_pool(const Call& call) {
  MODELD_TRY(check_pool_dtype(call));
  MODELD_TRY(need_rank_at_least(call, 0, 3));
  const Shape& x = call.shape(0);
  MODELD_ASSIGN(auto kernel, ints_of(call, "kernel_shape", x.size() - 2, 1));
  MODELD_ASSIGN(const Window window, window_of(call, std::move(kernel)));
  MODELD_ASSIGN(const bool ceil, flag_of(call, "ceil_mode"));
  MODELD_TRY(flag_of(call, "count_include_pad"));
  Shape out = {x[0], x[1]};
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    MODELD_ASSIGN(const int64_t count, placements(call, window, axis, x[axis + 2], ceil));
    out.push_back(count);
  }
  if (!call.attributes.has("indices")) return Types{{call.in(0).dtype, std::move(out)}};
  MODELD_TRY(need_one_of(call, "indices", {"row_major", "column_major"}));
  return Types{{call.in(0).dtype, out}, {DType::kInt64, out}};
}

}  // namespace

Result<Types> infer_window(const Call& call) {
  if (call.kind <= OpKind::kConvInteger) return infer_conv(call);
  if (call.kind == OpKind::kConvTranspose) return infer_conv_transpose(call);
  return infer_pool(call);
}

}  // namespace modeld::infer
