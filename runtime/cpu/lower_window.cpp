// Pools and resizing of float32, channels last: every output position is a few input positions'
// channels combined.
#include <algorithm>
#include <cmath>

#include "runtime/cpu/lowering.h"
#include "runtime/cpu/resize_plan.h"
#include "runtime/cpu/row_reduce.h"

namespace modeld::cpu {
namespace {

constexpr int64_t kWorthSharing = 16 * 1024;  // output elements

// --- Pools over two spatial axes ---

struct PoolAxis {
  int64_t in, out, kernel, stride, dilation, pad_begin, pad_end;

  // Taps [first, last) of output position `at` lie inside the input.
  Share taps(int64_t at) const {
    const int64_t start = at * stride - pad_begin;
    const int64_t first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
    const int64_t last = start >= in ? 0 : (in - start + dilation - 1) / dilation;
    return {std::min(first, kernel), std::max(std::min(first, kernel), std::min(last, kernel))};
  }
  // Taps that lie inside the input and its padding; a ceil_mode window may reach beyond.
  int64_t padded_taps(int64_t at) const {
    const int64_t room = in + pad_begin + pad_end - at * stride;
    return std::clamp<int64_t>((room + dilation - 1) / dilation, 0, kernel);
  }
};

struct Pool {
  bool average = false;
  bool count_padding = false;
  int64_t batch = 1;
  int64_t channels = 1;
  PoolAxis rows{}, columns{};
};

PoolAxis pool_axis(const Op& op, const Shape& in, const Shape& out, size_t axis) {
  const size_t spatial = in.size() - 2;
  const auto pads = op.attributes.get_ints("pads");
  return {in[axis + 2],
          out[axis + 2],
          op.attributes.get_ints("kernel_shape")[axis],
          op.attributes.get_ints("strides")[axis],
          op.attributes.get_ints("dilations")[axis],
          pads[axis],
          pads[spatial + axis]};
}

MODELD_ALWAYS_INLINE inline void pool_position(const Pool& pool, const float* image, int64_t y,
                                               int64_t x, float* out) {
  const int64_t channels = pool.channels;
  const Share tap_rows = pool.rows.taps(y);
  const Share tap_columns = pool.columns.taps(x);
  const float start = pool.average ? 0.0f : -math::kInfinity;
  for (int64_t c = 0; c < channels; ++c) out[c] = start;
  for (int64_t i = tap_rows.begin; i < tap_rows.end; ++i) {
    const int64_t row = y * pool.rows.stride - pool.rows.pad_begin + i * pool.rows.dilation;
    for (int64_t j = tap_columns.begin; j < tap_columns.end; ++j) {
      const int64_t column =
          x * pool.columns.stride - pool.columns.pad_begin + j * pool.columns.dilation;
      const float* in = image + (row * pool.columns.in + column) * channels;
      if (pool.average) {
        for (int64_t c = 0; c < channels; ++c) out[c] += in[c];
      } else {
        for (int64_t c = 0; c < channels; ++c) out[c] = Larger{}(out[c], in[c]);
      }
    }
  }
  if (!pool.average) return;
  const int64_t taps =
      pool.count_padding ? pool.rows.padded_taps(y) * pool.columns.padded_taps(x)
                         : (tap_rows.end - tap_rows.begin) * (tap_columns.end - tap_columns.begin);
  const auto divisor = static_cast<float>(taps);
  for (int64_t c = 0; c < channels; ++c) out[c] /= divisor;
}

void run_pool(const Pool& pool, const float* in, float* out, const RunContext& context) {
  const Share rows = share_of(pool.batch * pool.rows.out, context.part, context.parts);
  const int64_t image = pool.rows.in * pool.columns.in * pool.channels;
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t x = 0; x < pool.columns.out; ++x) {
        pool_position(pool, in + row / pool.rows.out * image, row % pool.rows.out, x,
                      out + (row * pool.columns.out + x) * pool.channels);
      }
    }
  });
}

bool lower_pool(Lowering& lowering, const Op& op) {
  const Shape& in = lowering.shape(op.inputs[0]);
  const Shape& out = lowering.shape(op.outputs[0]);
  if (in.size() != 4) return false;
  Pool pool;
  pool.average = op.kind == OpKind::kAveragePool;
  pool.count_padding = op.attributes.get_int("count_include_pad", 0) != 0;
  pool.batch = in[0];
  pool.channels = in[1];
  pool.rows = pool_axis(op, in, out, 0);
  pool.columns = pool_axis(op, in, out, 1);
  const ValueId from = lowering.value(op.inputs[0], Layout::kChannelsLast);
  const ValueId to = lowering.define(op.outputs[0], Layout::kChannelsLast);
  Lowering::StepOptions options;
  options.parallel = lowering.type(op.outputs[0]).elements() >= kWorthSharing;
  lowering.add(step_of([=](const RunContext& context) {
                 run_pool(pool, context.at<float>(from), context.at<float>(to), context);
               }),
               pool.average ? "own: average pool" : "own: max pool", {from}, {to},
               std::move(options));
  return true;
}

// --- Resize of two spatial axes ---

struct Resize {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t in_rows = 1;
  int64_t in_columns = 1;
  ResizeAxis rows;
  ResizeAxis columns;
};

MODELD_ALWAYS_INLINE inline void resize_position(const Resize& r, const float* image, size_t y,
                                                 size_t x, float* out) {
  const int64_t channels = r.channels;
  bool first = true;
  for (size_t i = 0; i < r.rows.taps; ++i) {
    const ResizeTap& row = r.rows.at(y, i);
    for (size_t j = 0; j < r.columns.taps; ++j) {
      const ResizeTap& column = r.columns.at(x, j);
      const float weight = row.weight * column.weight;
      // A tap without weight must not turn an infinity elsewhere into NaN.
      if (weight == 0.0f) continue;
      const float* in = image + (row.index * r.in_columns + column.index) * channels;
      if (first) {
        for (int64_t c = 0; c < channels; ++c) out[c] = weight * in[c];
      } else {
        for (int64_t c = 0; c < channels; ++c) out[c] += weight * in[c];
      }
      first = false;
    }
  }
  if (first) std::fill_n(out, channels, 0.0f);
}

void run_resize(const Resize& r, const float* in, float* out, const RunContext& context) {
  const auto out_rows = static_cast<int64_t>(r.rows.positions());
  const auto out_columns = static_cast<int64_t>(r.columns.positions());
  const Share rows = share_of(r.batch * out_rows, context.part, context.parts);
  const int64_t image = r.in_rows * r.in_columns * r.channels;
  vectorised([&]() MODELD_ALWAYS_INLINE {
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      for (int64_t x = 0; x < out_columns; ++x) {
        resize_position(r, in + row / out_rows * image, static_cast<size_t>(row % out_rows),
                        static_cast<size_t>(x), out + (row * out_columns + x) * r.channels);
      }
    }
  });
}

bool lower_resize(Lowering& lowering, const Op& op) {
  const Shape& in = lowering.shape(op.inputs[0]);
  const Shape& out = lowering.shape(op.outputs[0]);
  if (in.size() != 4 || in[0] != out[0] || in[1] != out[1]) return false;
  Resize resize;
  resize.batch = in[0];
  resize.channels = in[1];
  resize.in_rows = in[2];
  resize.in_columns = in[3];
  if (!plan_resize_axis(op.attributes, 2, in[2], out[2], resize.rows)) return false;
  if (!plan_resize_axis(op.attributes, 3, in[3], out[3], resize.columns)) return false;
  const ValueId from = lowering.value(op.inputs[0], Layout::kChannelsLast);
  const ValueId to = lowering.define(op.outputs[0], Layout::kChannelsLast);
  Lowering::StepOptions options;
  options.parallel = lowering.type(op.outputs[0]).elements() >= kWorthSharing;
  lowering.add(step_of([=](const RunContext& context) {
                 run_resize(resize, context.at<float>(from), context.at<float>(to), context);
               }),
               "own: resize", {from}, {to}, std::move(options));
  return true;
}

}  // namespace

Result<bool> lower_window(Lowering& lowering) {
  const Op& op = lowering.op();
  const bool pool = op.kind == OpKind::kAveragePool || op.kind == OpKind::kMaxPool;
  if (!pool && op.kind != OpKind::kResize) return false;
  if (op.outputs.size() > 1) return false;  // the places of the largest elements
  if (lowering.stored(op.inputs[0]) != DType::kFloat32) return false;
  if (lowering.type(op.inputs[0]).elements() == 0) return false;
  return pool ? lower_pool(lowering, op) : lower_resize(lowering, op);
}

}  // namespace modeld::cpu
