// Compound ops: ops that OPS.md defines by other ops. A backend that has no code of its own for one
// runs its expansion.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/program.h"

namespace modeld {

// Attention and Pointwise.
bool is_compound(OpKind kind);

// An op of an expansion. Operands below the number of the compound op's inputs are those inputs;
// the others, counted on from there, are the results of the expansion's ops (one each) so far.
struct InnerOp {
  OpKind kind = OpKind::kReshape;
  Attributes attributes;
  std::vector<uint32_t> operands;  // kNoTensor: left out
};

struct Expansion {
  std::vector<InnerOp> ops;
  std::vector<TensorType> types;  // of their results
  std::vector<uint32_t> results;  // ops whose results are the compound op's outputs, ascending
};

// `inputs[i]` is null where the compound op leaves an input out. Checks all that OPS.md demands of
// the op; safe for hostile ops. Inner ops are never compound.
Result<Expansion> expansion_of(OpKind kind, const Attributes& attributes,
                               std::span<const TensorType* const> inputs);

// The same of an op of a verified program.
Expansion expansion_of(const Program& program, const Op& op);

// `program`, which passed verify(), with every compound op replaced by its expansion unless `keep`
// wants it as it is. Ids of tensors stay; those inside expansions are appended.
Program expanded(const Program& program, const std::function<bool(const Op&)>& keep);
inline Program expanded(const Program& program) {
  return expanded(program, [](const Op&) { return false; });
}

}  // namespace modeld
