// The gate every program passes, from whatever source, before a device sees it.
#pragma once

#include <cstdint>

#include "runtime/base/result.h"
#include "runtime/program/program.h"

namespace modeld {

// Bounds that keep a hostile program from costing more than a second or the machine's memory.
struct ProgramLimits {
  size_t max_tensors = 200'000;
  size_t max_ops = 100'000;
  size_t max_rank = 8;
  uint64_t max_tensor_bytes = uint64_t{4} << 30;
  uint64_t max_total_bytes = uint64_t{16} << 30;
};

// Checks: ids in range; unique names; each tensor has exactly one origin; written before read;
// schema, attributes and inferred types of every op; constants inside `weights_bytes` with the
// length of their type; state pairs of equal type; nv12 only as program input read by Warp alone.
// An error names the tensor or op, with expected and found.
Status verify(const Program& program, uint64_t weights_bytes, const ProgramLimits& limits = {});

}  // namespace modeld
