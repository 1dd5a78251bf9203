#include "tools/compile/passes/form_regions.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <set>

#include "runtime/program/pointwise_body.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

constexpr size_t kMostOps = 64;  // of a region
// Of one search for a way round, and of all in a graph: beyond, ops stay apart.
constexpr size_t kMostSteps = 4096;
constexpr size_t kMostStepsInAll = 4'000'000;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

bool is_narrow_float(DType dtype) {
  return is_float(dtype) && dtype != DType::kFloat64;
}

bool is_small_integer(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8 || dtype == DType::kInt16 ||
         dtype == DType::kUInt16;
}

// Element types for which walking in blocks is known to pay: floats up to 32 bits, the integers
// that stand for them, and their sums.
bool has_block_types(const Draft& draft, const Op& op) {
  const DType in = draft.dtype(op.inputs[0]);
  const DType out = draft.dtype(op.outputs[0]);
  switch (op.kind) {
    case OpKind::kCast: {
      if (!is_narrow_float(out)) return false;
      const bool integer = is_small_integer(in) || in == DType::kInt32 || in == DType::kBool;
      const bool exact = out == DType::kFloat32 || (out == DType::kFloat16 && size_of(in) == 1);
      return is_narrow_float(in) || (integer && exact);
    }
    case OpKind::kQuantizeLinear:
      return is_narrow_float(in) && is_narrow_float(draft.dtype(op.inputs[1])) &&
             is_small_integer(out);
    case OpKind::kDequantizeLinear:
      return is_small_integer(in) && is_narrow_float(out);
    case OpKind::kWhere:
      return is_narrow_float(out);
    case OpKind::kAdd:
      return is_narrow_float(in) || in == DType::kInt32;
    case OpKind::kPow:
      return false;
    default:
      return is_narrow_float(in);
  }
}

bool is_candidate(const Draft& draft, const Op& op) {
  if (op.outputs.size() != 1 || op.inputs.size() > 3) return false;
  if (!can_be_encoded(op.kind, op.attributes)) return false;
  const TensorType& out = draft.type(op.outputs[0]);
  if (out.elements() < 2 || !has_block_types(draft, op)) return false;
  bool full = false;
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor) return false;
    full = full || draft.type(id).elements() > 1;
  }
  const bool first_is_data = op.inputs.size() == 1 || op.kind == OpKind::kQuantizeLinear ||
                             op.kind == OpKind::kDequantizeLinear;
  return first_is_data ? draft.shape(op.inputs[0]) == out.shape : full;
}

// Ops grouped so that every group can run as one op.
class Groups {
 public:
  explicit Groups(Draft& draft) : draft_(draft), links_(draft) {
    group_.resize(draft.ops.size());
    std::iota(group_.begin(), group_.end(), size_t{0});
    members_.resize(draft.ops.size());
    for (size_t i = 0; i < draft.ops.size(); ++i) members_[i] = {i};
  }

  void form() {
    for (size_t i = 0; i < draft_.ops.size(); ++i) {
      const Op& op = draft_.ops[i];
      if (!is_candidate(draft_, op)) continue;
      for (const TensorId id : op.inputs) {
        const auto writer = links_.producer(id);
        if (writer && fits(*writer, op)) try_join(group_[*writer], group_[i]);
      }
    }
  }

  const std::vector<size_t>& members(size_t group) const { return members_[group]; }
  size_t group_of(size_t op) const { return group_[op]; }
  const Links& links() const { return links_; }

 private:
  bool fits(size_t writer, const Op& op) const {
    const Op& before = draft_.ops[writer];
    return is_candidate(draft_, before) && before.phase == op.phase &&
           draft_.shape(before.outputs[0]) == draft_.shape(op.outputs[0]);
  }

  // Joins both unless something outside lies on a way from one to the other.
  void try_join(size_t first, size_t second) {
    if (first == second || members_[first].size() + members_[second].size() > kMostOps) return;
    if (leads_round(first, second) || leads_round(second, first)) return;
    std::vector<size_t>& all = members_[first];
    for (const size_t op : members_[second]) group_[op] = first;
    all.insert(all.end(), members_[second].begin(), members_[second].end());
    std::sort(all.begin(), all.end());
    members_[second].clear();
  }

  // Whether a way leads from `from` through another group into `to`. Groups run as one op: who
  // enters one leaves it from all its members.
  bool leads_round(size_t from, size_t to) {
    std::set<size_t> seen;
    std::vector<size_t> open;
    const auto visit_readers = [&](size_t group, bool first) {
      for (const size_t op : members_[group]) {
        for (const size_t reader : links_.readers(draft_.ops[op].outputs[0])) {
          const size_t next = group_[reader];
          if (next == group || (first && next == to)) continue;
          if (next != from && seen.insert(next).second) open.push_back(next);
        }
        for (size_t o = 1; o < draft_.ops[op].outputs.size(); ++o) {
          for (const size_t reader : links_.readers(draft_.ops[op].outputs[o])) {
            if (seen.insert(group_[reader]).second) open.push_back(group_[reader]);
          }
        }
      }
    };
    visit_readers(from, true);
    for (size_t steps = 0; !open.empty(); ++steps) {
      const size_t group = open.back();
      open.pop_back();
      if (group == to || steps > kMostSteps || ++steps_ > kMostStepsInAll) return true;
      visit_readers(group, false);
    }
    return false;
  }

  const Draft& draft_;
  Links links_;
  std::vector<size_t> group_;                 // by op
  std::vector<std::vector<size_t>> members_;  // by group, ascending
  size_t steps_ = 0;
};

// The groups in an order in which each comes after what it reads.
std::vector<size_t> order_of(const Draft& draft, const Groups& groups) {
  std::vector<std::set<size_t>> behind(draft.ops.size());
  std::vector<size_t> waits(draft.ops.size(), 0);
  for (size_t i = 0; i < draft.ops.size(); ++i) {
    for (const TensorId id : draft.ops[i].inputs) {
      const auto writer = id == kNoTensor ? std::nullopt : groups.links().producer(id);
      if (!writer) continue;
      const size_t from = groups.group_of(*writer);
      const size_t to = groups.group_of(i);
      if (from != to && behind[from].insert(to).second) ++waits[to];
    }
  }
  // Where there is a choice, as it was: by the last member.
  using Entry = std::pair<size_t, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](size_t group) { ready.emplace(groups.members(group).back(), group); };
  for (size_t group = 0; group < draft.ops.size(); ++group) {
    if (!groups.members(group).empty() && waits[group] == 0) push(group);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t group = ready.top().second;
    ready.pop();
    order.push_back(group);
    for (const size_t next : behind[group]) {
      if (--waits[next] == 0) push(next);
    }
  }
  return order;
}

Op region_of(const Draft& draft, const Groups& groups, const std::vector<size_t>& members) {
  const Op& last = draft.ops[members.back()];
  Op region;
  region.kind = OpKind::kPointwise;
  region.name = last.name;
  region.phase = last.phase;
  const auto position_in = [&](TensorId id) {
    for (size_t i = 0; i < members.size(); ++i) {
      if (draft.ops[members[i]].outputs[0] == id) return i;
    }
    return kNone;
  };
  for (const size_t member : members) {
    for (const TensorId id : draft.ops[member].inputs) {
      const bool known =
          std::find(region.inputs.begin(), region.inputs.end(), id) != region.inputs.end();
      if (!known && position_in(id) == kNone) region.inputs.push_back(id);
    }
  }
  std::vector<InnerOp> body;
  std::vector<uint32_t> results;
  for (size_t i = 0; i < members.size(); ++i) {
    const Op& op = draft.ops[members[i]];
    InnerOp inner{op.kind, op.attributes, {}};
    for (const TensorId id : op.inputs) {
      const size_t own = position_in(id);
      const auto input = std::find(region.inputs.begin(), region.inputs.end(), id);
      inner.operands.push_back(
          static_cast<uint32_t>(own != kNone ? region.inputs.size() + own
                                             : static_cast<size_t>(input - region.inputs.begin())));
    }
    body.push_back(std::move(inner));
    const TensorId out = op.outputs[0];
    const auto& readers = groups.links().readers(out);
    const bool outside = std::any_of(readers.begin(), readers.end(), [&](size_t reader) {
      return groups.group_of(reader) != groups.group_of(members[0]);
    });
    if (!outside && !groups.links().is_root(out)) continue;
    results.push_back(static_cast<uint32_t>(i));
    region.outputs.push_back(out);
  }
  region.attributes = encode_body(body, results);
  return region;
}

std::string description(const Draft& draft, const std::vector<size_t>& members) {
  std::string kinds;
  for (const size_t member : members) {
    kinds += (kinds.empty() ? "" : " + ") + std::string(to_string(draft.ops[member].kind));
  }
  return kinds + ", ends at '" + printable(draft.ops[members.back()].name) + "'";
}

}  // namespace

Result<Changes> form_regions(Draft& draft) {
  Changes changes;
  std::vector<Op> ops;
  {
    Groups groups(draft);
    groups.form();
    for (const size_t group : order_of(draft, groups)) {
      const std::vector<size_t>& members = groups.members(group);
      if (members.size() == 1) {
        ops.push_back(draft.ops[members[0]]);
        continue;
      }
      Op region = region_of(draft, groups, members);
      if (region.outputs.empty()) continue;  // nobody reads it
      changes.push_back(description(draft, members));
      ops.push_back(std::move(region));
    }
  }
  draft.ops = std::move(ops);
  return changes;
}

}  // namespace modeld::compile
