// Which input positions one axis of a Resize reads, and with what weight.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program/attributes.h"

namespace modeld::cpu {

struct ResizeTap {
  int64_t index = 0;
  float weight = 0;
};

struct ResizeAxis {
  size_t taps = 1;               // per output position
  std::vector<ResizeTap> table;  // output positions x taps

  size_t positions() const { return table.size() / taps; }
  const ResizeTap& at(size_t position, size_t tap) const { return table[position * taps + tap]; }
};

// Nearest and linear modes with the coordinate rules asymmetric, half_pixel, pytorch_half_pixel
// and align_corners (formulas: ONNX operator documentation, Resize). False for anything else,
// which is the reference loop's.
bool plan_resize_axis(const Attributes& attributes, size_t axis, int64_t in, int64_t out,
                      ResizeAxis& plan);

}  // namespace modeld::cpu
