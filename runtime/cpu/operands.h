// The inputs of an op that works element by element, brought to where its loop reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cpu/broadcast_plan.h"
#include "runtime/cpu/lowering.h"

namespace modeld::cpu {

// Elements from which sharing between members pays for the barrier.
constexpr int64_t kWorthSharing = 16 * 1024;

struct Operands {
  std::vector<ValueId> values;
  std::vector<BroadcastPlan::Input> inputs;
  std::vector<ValueId> in_place;
  ValueId out = kNoValue;
  Layout layout = Layout::kPlain;
};

// Of an op whose inputs (all given) broadcast to its output. Inputs of the output's size are
// brought to its layout, smaller ones are read where they are.
Operands operands_of(Lowering& lowering, const Op& op);

Lowering::StepOptions options_for(const Operands& operands, int64_t elements);

}  // namespace modeld::cpu
