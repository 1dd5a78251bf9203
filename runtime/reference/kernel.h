// One op made ready to run many times on changing addresses, without allocating.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/op.h"
#include "warp/nv12_layout.h"

namespace modeld::reference {

// Highest rank of a tensor; verify() bounds programs likewise.
constexpr size_t kMaxRank = 8;

struct Flags {
  uint32_t index_out_of_range = 0;
  uint32_t integer_division_by_zero = 0;
};

struct KernelIo {
  std::span<const std::byte* const> inputs;  // null where an optional input is left out
  std::span<std::byte* const> outputs;
  Flags& flags;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelIo& io) = 0;
};

// An op that infer_types() has accepted, with the types it answered.
struct KernelSpec {
  OpKind kind;
  const Attributes& attributes;
  std::span<const TensorType* const> inputs;
  std::span<const TensorType> outputs;

  bool has(size_t index) const { return index < inputs.size() && inputs[index] != nullptr; }
  const TensorType& in(size_t index) const { return *inputs[index]; }
  const TensorType& out(size_t index = 0) const { return outputs[index]; }
};

using KernelPointer = std::unique_ptr<Kernel>;

// kUnsupported above kMaxRank, for Warp, and for Resize to an axis beyond 2^24.
Result<KernelPointer> make_kernel(const KernelSpec& spec);
// `layout` has been checked.
Result<KernelPointer> make_warp_kernel(const KernelSpec& spec, const Nv12Layout& layout);

// Families behind make_kernel().
KernelPointer make_unary_kernel(const KernelSpec& spec);
KernelPointer make_binary_kernel(const KernelSpec& spec);
KernelPointer make_where_kernel(const KernelSpec& spec);
KernelPointer make_product_kernel(const KernelSpec& spec);
KernelPointer make_normalisation_kernel(const KernelSpec& spec);
KernelPointer make_reduction_kernel(const KernelSpec& spec);
KernelPointer make_arg_kernel(const KernelSpec& spec);
KernelPointer make_convolution_kernel(const KernelSpec& spec);
KernelPointer make_transposed_convolution_kernel(const KernelSpec& spec);
KernelPointer make_pool_kernel(const KernelSpec& spec);
Result<KernelPointer> make_resize_kernel(const KernelSpec& spec);
KernelPointer make_recurrent_kernel(const KernelSpec& spec);
KernelPointer make_quantisation_kernel(const KernelSpec& spec);
KernelPointer make_integer_convolution_kernel(const KernelSpec& spec);
KernelPointer make_integer_product_kernel(const KernelSpec& spec);
KernelPointer make_index_kernel(const KernelSpec& spec);
KernelPointer make_selection_kernel(const KernelSpec& spec);
KernelPointer make_cumulative_sum_kernel(const KernelSpec& spec);
KernelPointer make_move_kernel(const KernelSpec& spec);

// A kernel that is a callable taking `const KernelIo&`; what it captures is its plan and scratch.
template <typename Run>
KernelPointer kernel_of(Run run) {
  class Callable final : public Kernel {
   public:
    explicit Callable(Run callable) : run_(std::move(callable)) {}
    void run(const KernelIo& io) override { run_(io); }

   private:
    Run run_;
  };
  return std::make_unique<Callable>(std::move(run));
}

}  // namespace modeld::reference
