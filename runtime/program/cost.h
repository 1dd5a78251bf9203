// What a program costs on paper: multiply-accumulates and bytes.
#pragma once

#include <cstdint>

#include "runtime/program/program.h"

namespace modeld {

struct OpCost {
  // Conv, ConvTranspose, Gemm and MatMul, counted without padding's savings:
  //   Conv           output elements x (input channels / group) x kernel elements
  //   ConvTranspose  input elements x (output channels / group) x kernel elements
  //   Gemm, MatMul   output elements x inner extent
  //   Attention      those of its two products
  // 0 for every other op: its additions and multiplications are not what a machine's peak counts.
  uint64_t macs = 0;
  uint64_t bytes_read = 0;  // of all inputs once, constants included
  uint64_t bytes_written = 0;
};

struct ProgramCost {
  uint64_t macs = 0;
  uint64_t constant_bytes = 0;      // weights
  uint64_t intermediate_bytes = 0;  // sum over ops' outputs, not what is alive at once
};

// The program must have passed verify().
OpCost op_cost(const Program& program, const Op& op);
ProgramCost program_cost(const Program& program);

}  // namespace modeld
