// What the plain kernels share: one work-item per result, any element type, any rank.
#pragma once

#include <string>
#include <vector>

#include "runtime/opencl/lowering.h"

namespace modeld::opencl {

// A number in parentheses, so that a sign is no operator.
std::string text(int64_t value);
// "c3"
std::string name(const char* prefix, size_t i);
bool has(const Op& op, size_t input);

// A kernel with one work-item per element of `shape`: coordinates c0, c1, ... and, for each view
// asked for, an index into it.
class PlainKernel {
 public:
  PlainKernel(Lowering& lowering, Shape shape);

  bool empty() const { return count_ == 0; }
  // The type of coordinates: "int", or "long" where there are too many results for it.
  const std::string& index() const { return index_; }
  // Sum of coordinate times stride, over axes of the shape.
  std::string at(const View& view) const;
  void add(std::string how) &&;

  KernelWriter writer;

 private:
  Lowering& lowering_;
  Shape shape_;
  std::string index_;
  int64_t count_ = 0;
};

// What a replay counts (values.h).
enum class Fault : uint8_t { kIndex, kDivision };
// A statement that counts one.
std::string count_fault(Lowering& lowering, KernelWriter& writer, Fault fault);
// A statement that turns the variable `index` (long) into a place below `extent`, counted from the
// end if negative; where there is none `inside` (int) becomes 0.
std::string resolve_index(const std::string& index, int64_t extent, const std::string& inside);

// The window of a convolution or pool.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
};
Window window_of(const Op& op, const Shape& kernel);

// Loops over the taps of a window, with the input coordinate s<axis> of each that meets one.
void open_taps(KernelWriter& writer, const std::string& index, const Window& window,
               const Shape& in, bool transposed);
void close_taps(KernelWriter& writer, size_t axes);

}  // namespace modeld::opencl
