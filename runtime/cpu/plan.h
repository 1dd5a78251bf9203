// What recording makes of a program: steps, values and the memory behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/aligned_bytes.h"
#include "runtime/cpu/step.h"
#include "runtime/cpu/values.h"
#include "runtime/device/capture.h"
#include "runtime/program/weights.h"

namespace modeld::cpu {

struct Plan {
  std::vector<StepRecord> steps;
  std::vector<Value> values;
  // Bytes of constants, by ValueId of their root (empty for other values).
  std::vector<AlignedBytes> constants;
  // Offset of each root value in the arena, by ValueId (0 for other homes).
  std::vector<uint64_t> arena_offsets;
  uint64_t arena_bytes = 0;
  unsigned members = 1;
};

// Lowers `program` for `members` threads. `frames` as match_frames() answered. Reads the weights.
// kUnsupported names the op; kExhausted the bytes.
Result<Plan> make_plan(const Program& program, WeightSource& weights,
                       const std::vector<std::optional<FrameBinding>>& frames, unsigned members);

}  // namespace modeld::cpu
