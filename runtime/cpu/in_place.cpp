#include "runtime/cpu/in_place.h"

#include <limits>

namespace modeld::cpu {
namespace {

constexpr uint32_t kForever = std::numeric_limits<uint32_t>::max();

// Makes `target` and its views views of `candidate`'s root.
void move_into(Plan& plan, ValueId target, ValueId candidate) {
  const ValueId root = plan.values[candidate].root;
  const uint64_t offset = plan.values[candidate].offset;
  for (Value& value : plan.values) {
    if (value.root != target) continue;
    value.root = root;
    value.offset += offset;
  }
}

// Whether the step reads other bytes of the candidate's root: they would be overwritten before
// their turn.
bool reads_beside(const Plan& plan, const StepRecord& record, ValueId candidate) {
  const Value& own = plan.values[candidate];
  for (const ValueId id : record.reads) {
    const Value& read = plan.values[id];
    if (read.root == own.root && (read.offset != own.offset || read.bytes != own.bytes)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<uint32_t> last_uses(const Plan& plan) {
  std::vector<uint32_t> last(plan.values.size(), 0);
  for (uint32_t step = 0; step < plan.steps.size(); ++step) {
    for (const ValueId id : plan.steps[step].reads) last[plan.values[id].root] = step;
    for (const ValueId id : plan.steps[step].writes) last[plan.values[id].root] = step;
  }
  for (ValueId id = 0; id < last.size(); ++id) {
    if (plan.values[id].home != Home::kArena) last[id] = kForever;
  }
  return last;
}

void share_in_place(Plan& plan) {
  std::vector<uint32_t> last = last_uses(plan);
  for (uint32_t step = 0; step < plan.steps.size(); ++step) {
    const StepRecord& record = plan.steps[step];
    for (const ValueId candidate : record.in_place) {
      const ValueId target = record.writes[0];
      const ValueId root = plan.values[candidate].root;
      const Value& result = plan.values[target];
      if (result.root != target || result.home != Home::kArena) break;
      if (plan.values[root].home != Home::kArena || last[root] != step || root == target) continue;
      if (plan.values[candidate].bytes != result.bytes) continue;
      if (reads_beside(plan, record, candidate)) continue;
      move_into(plan, target, candidate);
      last[root] = last[target];
      break;
    }
  }
}

}  // namespace modeld::cpu
