// Which input elements each output coordinate of a Resize reads, axis by axis. Formulas: ONNX
// operator documentation, Resize, opset 18.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program/attributes.h"
#include "runtime/program/tensor.h"

namespace modeld::reference {

struct ResizeTap {
  int64_t index = 0;
  double weight = 0;
};

// What one output coordinate of an axis reads.
struct ResizeSample {
  std::vector<ResizeTap> taps;
  bool outside = false;  // tf_crop_and_resize: the extrapolation value instead
};

// One axis of the resize.
struct ResizeAxisPlan {
  int64_t extent = 0;                 // of the input
  std::vector<ResizeSample> samples;  // by output coordinate
};

// By axis; the output element is the weighted sum over the product of the axes' taps.
std::vector<ResizeAxisPlan> plan_resize(const Attributes& attributes, const Shape& in,
                                        const Shape& out);

}  // namespace modeld::reference
