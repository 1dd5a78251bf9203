// Element-wise ops on short rows: what the bodies of Pointwise ops are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/cpu/activation.h"
#include "runtime/program/expand.h"

namespace modeld::cpu {

constexpr size_t kMostBlockOperands = 3;

struct BlockOperand {
  const std::byte* data = nullptr;
  bool repeats = false;  // one element for the whole row
};

struct BlockCall {
  std::array<BlockOperand, kMostBlockOperands> operands;
  std::byte* out;
  int64_t count;
  Activation activation;  // of one-input functions
};

using BlockKernel = void (*)(const BlockCall&);

// `types`: of the operands, in the program (half types are stored as float32); `out` likewise. Null
// where there is no such kernel. `activation` is set for one-input functions.
BlockKernel block_kernel(const InnerOp& op, std::span<const DType> types, DType out,
                         Activation& activation);

}  // namespace modeld::cpu
