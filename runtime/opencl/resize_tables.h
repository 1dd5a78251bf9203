// Resize as tables: which elements of the input each coordinate of an axis reads, and how much of
// each.
#pragma once

#include "runtime/opencl/lowering.h"
#include "runtime/reference/resize_taps.h"

namespace modeld::opencl {

// Both are constants [out][taps]; taps that a coordinate does not have read element 0 with weight
// 0.
struct ResizeTables {
  size_t taps = 1;
  View indices;  // i32; -1 in all taps: the coordinate lies outside the input
  View weights;  // f32
};

ResizeTables resize_tables(Lowering& lowering, const reference::ResizeAxisPlan& plan);

}  // namespace modeld::opencl
