// Conv and ConvTranspose of one or two spatial axes with constant weights.
#include <numeric>

#include "runtime/opencl/depthwise_kernel.h"
#include "runtime/opencl/lowering.h"
#include "runtime/opencl/tile_kernel.h"

namespace modeld::opencl {
namespace {

// Fewer input channels than this are read where they lie: bringing them next to each other costs
// more than it saves.
constexpr int64_t kFewChannels = 16;

bool has(const Op& op, size_t input) {
  return input < op.inputs.size() && op.inputs[input] != kNoTensor;
}

bool knows(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16;
}

// Attributes of the op with a leading axis of extent 1 where there is only one spatial axis.
struct Geometry {
  std::vector<int64_t> kernel, strides, dilations, before, in, out;
};

Geometry geometry_of(const Lowering& lowering, const Op& op) {
  const Shape& x = lowering.shape(op.inputs[0]);
  const Shape& w = lowering.shape(op.inputs[1]);
  const Shape& y = lowering.shape(op.outputs[0]);
  Geometry g;
  g.kernel.assign(w.begin() + 2, w.end());
  g.in.assign(x.begin() + 2, x.end());
  g.out.assign(y.begin() + 2, y.end());
  g.strides = op.attributes.get_ints("strides");
  g.dilations = op.attributes.get_ints("dilations");
  g.before = op.attributes.get_ints("pads");
  g.before.resize(g.in.size());
  if (g.in.size() == 1) {
    for (auto* list : {&g.kernel, &g.strides, &g.dilations, &g.in, &g.out}) {
      list->insert(list->begin(), 1);
    }
    g.before.insert(g.before.begin(), 0);
  }
  return g;
}

bool fits(const Lowering& lowering, const Op& op) {
  const size_t rank = lowering.shape(op.inputs[0]).size();
  return (rank == 3 || rank == 4) && lowering.is_constant(op.inputs[1]) &&
         is_float(lowering.dtype(op.inputs[0])) &&
         compute_of(lowering.dtype(op.inputs[0])) == Compute::kFloat &&
         lowering.type(op.outputs[0]).elements() > 0 && lowering.type(op.inputs[0]).elements() > 0;
}

void set_strides(const View& view, int64_t& batch, int64_t& row, int64_t& column) {
  const size_t rank = view.shape.size();
  batch = view.strides[0];
  column = view.strides[rank - 1];
  row = rank == 4 ? view.strides[2] : 0;
}

// Input, output, bias and residual; the axes and weights are the caller's.
bool fill_common(Lowering& lowering, const Op& op, TileSpec& spec, bool depthwise) {
  const bool few = spec.channels < kFewChannels && spec.groups == 1 && !depthwise;
  const View x =
      few ? lowering.view(op.inputs[0]) : lowering.dense(op.inputs[0], Layout::kChannelsLast);
  if (!knows(x.dtype)) return false;
  spec.batch = x.shape[0];
  spec.in = x;
  set_strides(x, spec.in_batch, spec.in_row, spec.in_column);
  spec.in_channel = x.strides[1];
  if (x.shape[1] == 1) spec.in_channel = 1;
  if (has(op, 2)) {
    spec.bias = lowering.dense(op.inputs[2], Layout::kPlain);
    if (!knows(spec.bias->dtype)) return false;
  }
  if (has(op, 3)) {
    spec.residual = lowering.dense(op.inputs[3], Layout::kChannelsLast);
    if (!knows(spec.residual->dtype)) return false;
  }
  spec.out = lowering.define(op.outputs[0], Layout::kChannelsLast);
  if (!knows(spec.out.dtype)) return false;
  set_strides(spec.out, spec.out_batch, spec.out_row, spec.out_column);
  if (spec.out.shape.size() == 3) spec.out_row = 0;
  spec.attributes = &op.attributes;
  return fits_int({&spec.in, &spec.out});
}

void lower_depthwise(Lowering& lowering, const Op& op, TileSpec spec,
                     const std::vector<float>& weights) {
  // [channel][1][ky][kx] becomes [ky][kx][channel].
  const int64_t taps = spec.rows.taps * spec.columns.taps;
  std::vector<float> turned(weights.size());
  for (int64_t c = 0; c < spec.groups; ++c) {
    for (int64_t t = 0; t < taps; ++t) {
      turned[static_cast<size_t>(t * spec.groups + c)] = weights[static_cast<size_t>(c * taps + t)];
    }
  }
  spec.weights = lowering.constant(turned);
  (void)op;
  lowering.add(depthwise_kernel(lowering, spec), "depthwise");
}

// Every channel `times` times in a row: what makes a depthwise convolution with several outputs per
// channel an ordinary one.
View repeated_channels(Lowering& lowering, const View& x, int64_t times) {
  Shape shape = x.shape;
  shape[1] *= times;
  View to = lowering.temporary(x.dtype, shape);
  to.strides = dense_strides(shape, Layout::kChannelsLast);
  View from = x;
  View parts = to;
  from.shape.insert(from.shape.begin() + 2, times);
  from.strides.insert(from.strides.begin() + 2, 0);
  parts.shape = from.shape;
  parts.strides.insert(parts.strides.begin() + 2, to.strides[1]);
  parts.strides[1] = to.strides[1] * times;
  lowering.add_copy(from, parts, "repeat channels");
  return to;
}

bool lower_conv(Lowering& lowering, const Op& op) {
  const Geometry g = geometry_of(lowering, op);
  const int64_t in_channels = lowering.shape(op.inputs[0])[1];
  const int64_t out_channels = lowering.shape(op.outputs[0])[1];
  TileSpec spec;
  spec.groups = op.attributes.get_int("group", 1);
  spec.channels = in_channels / spec.groups;
  spec.out_channels = out_channels / spec.groups;
  const auto axis = [&](size_t i) {
    return TileAxis{g.out[i], g.in[i], g.strides[i], -g.before[i], g.kernel[i], g.dilations[i]};
  };
  spec.rows = axis(0);
  spec.columns = axis(1);
  const bool depthwise = spec.channels == 1 && spec.groups > 1;
  if (!fill_common(lowering, op, spec, depthwise)) return false;
  const std::vector<float> weights = lowering.constant_floats(op.inputs[1]);
  if (depthwise) {
    if (spec.out_channels > 1) {
      const View repeated = repeated_channels(lowering, spec.in, spec.out_channels);
      spec.in = repeated;
      set_strides(repeated, spec.in_batch, spec.in_row, spec.in_column);
      spec.groups = out_channels;
      spec.out_channels = 1;
    }
    lower_depthwise(lowering, op, spec, weights);
    return true;
  }
  const int64_t positions = spec.batch * spec.rows.positions * spec.columns.positions;
  const TileShape shape = tile_shape(lowering.traits(), spec.out_channels, positions);
  spec.weights = lowering.constant(
      pack_tiles(spec, shape, [&](int64_t group, int64_t ty, int64_t tx, int64_t c, int64_t n) {
        const int64_t out = group * spec.out_channels + n;
        return weights[static_cast<size_t>(
            ((out * spec.channels + c) * g.kernel[0] + ty) * g.kernel[1] + tx)];
      }));
  lowering.add(tile_kernel(lowering, spec, shape), "convolution tile");
  return true;
}

// One residue class of output positions of a transposed convolution on one axis: they meet the same
// taps, one input step apart.
struct Phase1D {
  TileAxis axis;
  int64_t out_first = 0;
  int64_t tap_first = 0;  // of the kernel
  int64_t tap_stride = 1;
};

// Output o meets tap k at input (o + pad - k * dilation) / stride, where that divides. For
// o = stride * q + residue the taps are k0, k0 + stride / gcd, ..; the input is q + first, falling
// by dilation / gcd from tap to tap.
std::vector<Phase1D> phases_of(const Geometry& g, size_t i) {
  std::vector<Phase1D> phases;
  const int64_t stride = g.strides[i];
  const int64_t dilation = g.dilations[i];
  const int64_t common = std::gcd(stride, dilation);
  for (int64_t residue = 0; residue < std::min(stride, g.out[i]); ++residue) {
    Phase1D phase;
    phase.out_first = residue;
    phase.axis.positions = (g.out[i] - residue + stride - 1) / stride;
    phase.axis.extent = g.in[i];
    phase.axis.step = 1;
    phase.tap_stride = stride / common;
    phase.axis.tap_step = -(dilation / common);
    int64_t k = 0;
    const int64_t shifted = residue + g.before[i];
    while (k < g.kernel[i] && (shifted - k * dilation) % stride != 0) ++k;
    phase.tap_first = k;
    phase.axis.taps =
        k < g.kernel[i] ? (g.kernel[i] - k + phase.tap_stride - 1) / phase.tap_stride : 0;
    phase.axis.first = phase.axis.taps > 0 ? (shifted - k * dilation) / stride : 0;
    phases.push_back(phase);
  }
  return phases;
}

bool lower_transposed(Lowering& lowering, const Op& op) {
  const Geometry g = geometry_of(lowering, op);
  const int64_t in_channels = lowering.shape(op.inputs[0])[1];
  const int64_t out_channels = lowering.shape(op.outputs[0])[1];
  TileSpec common;
  common.groups = op.attributes.get_int("group", 1);
  common.channels = in_channels / common.groups;
  common.out_channels = out_channels / common.groups;
  const std::vector<Phase1D> rows = phases_of(g, 0);
  const std::vector<Phase1D> columns = phases_of(g, 1);
  for (const Phase1D& row : rows) {
    for (const Phase1D& column : columns) {
      // Positions no tap meets are the bias alone: rare enough for the plain kernel.
      if (row.axis.taps == 0 || column.axis.taps == 0) return false;
    }
  }
  if (!fill_common(lowering, op, common, common.groups > 1)) return false;
  const std::vector<float> weights = lowering.constant_floats(op.inputs[1]);
  for (const Phase1D& row : rows) {
    for (const Phase1D& column : columns) {
      TileSpec spec = common;
      spec.rows = row.axis;
      spec.columns = column.axis;
      spec.out.offset += row.out_first * common.out_row + column.out_first * common.out_column;
      spec.out_row = common.out_row * g.strides[0];
      spec.out_column = common.out_column * g.strides[1];
      const int64_t positions = spec.batch * spec.rows.positions * spec.columns.positions;
      const TileShape shape = tile_shape(lowering.traits(), spec.out_channels, positions);
      // Weights are (in, out / group, ky, kx).
      spec.weights = lowering.constant(
          pack_tiles(spec, shape, [&](int64_t group, int64_t ty, int64_t tx, int64_t c, int64_t n) {
            const int64_t in = group * spec.channels + c;
            const int64_t ky = row.tap_first + ty * row.tap_stride;
            const int64_t kx = column.tap_first + tx * column.tap_stride;
            return weights[static_cast<size_t>(
                ((in * spec.out_channels + n) * g.kernel[0] + ky) * g.kernel[1] + kx)];
          }));
      lowering.add(tile_kernel(lowering, spec, shape), "transposed convolution tile");
    }
  }
  return true;
}

}  // namespace

Result<bool> lower_convolution(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kConv && op.kind != OpKind::kConvTranspose) return false;
  if (!fits(lowering, op)) return false;
  return op.kind == OpKind::kConv ? lower_conv(lowering, op) : lower_transposed(lowering, op);
}

}  // namespace modeld::opencl
