// Convolutions of one input channel per output channel: vectors along the channels, a few
// neighbouring positions at once, which share the inputs they have in common.
#pragma once

#include "runtime/opencl/tile_kernel.h"

namespace modeld::opencl {

// `spec.groups` channels, one in and one out each; weights [tap row][tap column][channel], all
// strides as in TileSpec with neighbouring channels next to each other.
Launch depthwise_kernel(Lowering& lowering, const TileSpec& spec);

}  // namespace modeld::opencl
