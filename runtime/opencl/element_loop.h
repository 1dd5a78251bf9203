// The loop of a kernel over the elements of a view, innermost neighbours as vectors where every
// operand allows it.
#pragma once

#include <string>
#include <vector>

#include "runtime/opencl/kernel_text.h"
#include "runtime/opencl/traits.h"
#include "runtime/opencl/values.h"

namespace modeld::opencl {

// views[0] is written; the others are read, broadcast to its shape. None is empty. Inside the body
// `i<k>` is the index into view k.
class ElementLoop {
 public:
  // `vectors`: the body knows vectors.
  ElementLoop(const Traits& traits, const std::vector<const View*>& views, bool vectors);

  uint32_t width() const { return width_; }
  // True if view k moves along the innermost axis; else a vector of it is one element repeated.
  bool varies(size_t view) const { return axes_.back().strides[view] != 0; }

  // Writes loop and body, and makes the launch.
  Launch write(KernelWriter writer, const std::string& body) const;

 private:
  std::string offset_of(size_t view) const;

  const Traits& traits_;
  std::vector<LoopAxis> axes_;
  std::string index_;  // type of indices
  uint32_t width_ = 1;
  size_t views_ = 0;
};

}  // namespace modeld::opencl
