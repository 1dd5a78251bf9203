// Convolutions and matrix products as one kernel: a register tile of output positions times output
// channels, accumulated in float32 over taps and input channels, with bias, residual and activation
// applied before the only store.
#pragma once

#include <functional>
#include <optional>

#include "runtime/opencl/kernel_text.h"
#include "runtime/opencl/lowering.h"
#include "runtime/opencl/traits.h"
#include "runtime/opencl/values.h"

namespace modeld::opencl {

// How input coordinates follow from output coordinates on one axis: tap t of output position p
// reads p * step + first + t * tap_step, nothing where that is outside [0, extent).
struct TileAxis {
  int64_t positions = 1;
  int64_t extent = 1;
  int64_t step = 1;
  int64_t first = 0;
  int64_t taps = 1;
  int64_t tap_step = 1;

  // Every tap of every position is inside.
  bool always_inside() const;
};

// All strides in elements. Position (b, y, x) of the output, group g, channel n of it:
//   out[b * out_batch + y * out_row + x * out_column + g * out_channels + n]
struct TileSpec {
  int64_t batch = 1;
  TileAxis rows;
  TileAxis columns;
  int64_t groups = 1;
  int64_t channels = 1;      // input channels of one group
  int64_t out_channels = 1;  // of one group
  View in;
  int64_t in_batch = 0, in_row = 0, in_column = 0, in_channel = 1;
  View out;
  int64_t out_batch = 0, out_row = 0, out_column = 0;
  // Packed by pack_tiles(), or a computed right side [channels][out_channels] with neighbours along
  // the second axis (one tap, one group).
  View weights;
  bool packed = true;
  int64_t weights_row = 0;    // computed: between input channels
  int64_t weights_batch = 0;  // computed: between batches
  std::optional<View> bias;   // one per output channel, dense
  bool bias_is_scalar = false;
  std::optional<View> residual;  // strides as `out`
  double alpha = 1;
  double beta = 1;                         // of the bias
  const Attributes* attributes = nullptr;  // with the activation
};

// The tile a device gets for so many output channels and positions.
struct TileShape {
  uint32_t width = 1;    // of a vector
  uint32_t vectors = 1;  // per position
  uint32_t positions = 1;
  int64_t tiles = 1;  // along the output channels of one group; the last begins where it still fits

  int64_t columns() const { return int64_t{width} * vectors; }
  // First output channel of a tile.
  int64_t start(int64_t tile, int64_t out_channels) const;
};
TileShape tile_shape(const Traits& traits, int64_t out_channels, int64_t positions);

// Weights in the order the kernel reads them: [group][tile][tap row][tap column][channel][column].
std::vector<float> pack_tiles(
    const TileSpec& spec, const TileShape& shape,
    const std::function<float(int64_t group, int64_t tap_row, int64_t tap_column, int64_t channel,
                              int64_t out_channel)>& weight);

Launch tile_kernel(Lowering& lowering, const TileSpec& spec, const TileShape& shape);

}  // namespace modeld::opencl
