// Kernels that reduce rows of neighbouring elements: one work-item per row with vectors, or one
// work-group per row that meets in local memory, as the device's traits say.
#pragma once

#include <functional>
#include <string>

#include "runtime/opencl/kernel_text.h"
#include "runtime/opencl/traits.h"

namespace modeld::opencl {

// How two partial results become one, and what combines with anything to that.
enum class Combine : uint8_t { kSum, kMax, kMin, kProduct };
std::string combined(Combine how, const std::string& a, const std::string& b);
std::string identity(Combine how);

// Writes the body of a kernel over `rows` rows of `length` elements. In every text `row` is the
// row's number and `k` the element's.
class RowKernel {
 public:
  // An expression at element k, as a vector of this width.
  using Element = std::function<std::string(const std::string& k, uint32_t width)>;

  RowKernel(const Traits& traits, int64_t rows, int64_t length);

  KernelWriter writer;

  // Declares the float `name`: the reduction of `element` over the row. Every work-item that
  // shares the row has it afterwards.
  void reduce(const std::string& name, Combine how, const Element& element);
  // A statement for every element of the row.
  void each(const Element& statement);
  // A statement once per row.
  void once(const std::string& statement);

  Launch finish() &&;

 private:
  bool shared() const { return group_ > 1; }

  const int64_t rows_;
  const int64_t length_;
  uint32_t group_ = 1;  // work-items that share a row
  uint32_t width_ = 1;
  size_t per_group_ = 1;  // rows of a work-group where rows are not shared
};

}  // namespace modeld::opencl
