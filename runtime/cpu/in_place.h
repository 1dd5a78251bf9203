// Results that take the place of an operand that ends with them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cpu/plan.h"

namespace modeld::cpu {

// The last step that touches each root value, by ValueId; values outside the arena live on for
// ever (the largest number).
std::vector<uint32_t> last_uses(const Plan& plan);

// Lets the first result of a step lie where one of the operands lay that the step says it may
// overwrite (StepRecord::in_place): only if both are of the arena and of one size, the result is a
// value of its own, no later step reads the operand under any name, and this step reads no other
// part of what the operand is a part of. Call before the arena is placed.
void share_in_place(Plan& plan);

}  // namespace modeld::cpu
