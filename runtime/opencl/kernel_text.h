// Writing OpenCL C: element types, numbers, loads and stores, and the frame of a kernel.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/opencl/kernel_cache.h"
#include "runtime/opencl/traits.h"
#include "runtime/opencl/values.h"
#include "runtime/program/op.h"

namespace modeld::opencl {

// What a kernel computes with. Integers and bool are 64 bits wide, so that results wrap as
// OPS.md says whatever the storage.
enum class Compute : uint8_t { kFloat, kDouble, kSigned, kUnsigned };
Compute compute_of(DType dtype);
bool is_real(Compute compute);
// "float", "float16", "long"; vectors of 1 are scalars.
std::string type_name(Compute compute, uint32_t width = 1);
// The type behind pointers to elements: "half", "ushort" for bf16, "uchar" for bool.
std::string storage_name(DType dtype);

// A constant of the type, exactly.
std::string literal(double value, Compute compute);

// pointer[index] as `compute`; a vector of `width` neighbours for width > 1 (float only).
std::string load(DType dtype, const std::string& pointer, const std::string& index, Compute compute,
                 uint32_t width = 1);
// A statement; `value` is of type `compute`.
std::string store(DType dtype, const std::string& pointer, const std::string& index,
                  const std::string& value, Compute compute, uint32_t width = 1);
// True if load() and store() know vectors of this type.
bool loads_vectors(DType dtype);
bool stores_vectors(DType dtype);

// `value` of type `from` as `to`: real to integer truncates and saturates into `dtype`.
std::string converted(const std::string& value, Compute from, Compute to, DType dtype);
// `value` wrapped into an integer type, saturated or rounded as a store into `dtype` would.
std::string narrowed(const std::string& value, Compute compute, DType dtype);

// Replaces @name@ by its value.
std::string fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string>> values);

// A piece of memory (cl_mem and byte offset), or a number (long) where root is kNoRoot.
struct Argument {
  RootId root = kNoRoot;
  bool written = false;
  int64_t number = 0;
};

// One enqueue of a kernel.
struct Launch {
  KernelSource source{"KERNEL"};
  std::vector<Argument> arguments;
  std::array<size_t, 3> global{1, 1, 1};
  std::array<size_t, 3> local{1, 1, 1};
  Phase phase = Phase::kModel;
  std::string op;
  std::string how;
  std::string signature;  // op_signature() of the op it was made for; empty for copies at the end
};

// Collects a kernel's arguments and body. Each memory argument is a pair of cl_mem and byte
// offset; the offset of a view in elements is part of the text.
class KernelWriter {
 public:
  // Names of pointers to the first element of the view. The same view has one name.
  std::string input(const View& view);
  std::string output(const View& view);
  // Name of a number that is an argument: kernels that differ in it alone are one kernel.
  std::string number(int64_t value);
  // Pointer to the fault counters.
  std::string flags(RootId root);

  KernelWriter& operator<<(std::string_view text) {
    body_ += text;
    return *this;
  }

  // Subnormal numbers may be taken as zero (KernelSource).
  void flush_subnormals() { flushes_ = true; }
  Launch finish() &&;

 private:
  std::string pointer(RootId root, const std::string& type, int64_t offset, bool written);

  struct Pointer {
    RootId root;
    std::string type;
    int64_t offset;
    bool written;
  };
  std::vector<Pointer> pointers_;
  std::vector<int64_t> numbers_;
  bool flushes_ = false;
  std::string body_;
};

}  // namespace modeld::opencl
