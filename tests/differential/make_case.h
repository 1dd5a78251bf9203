// Case ids to cases.
#pragma once

#include "tests/differential/fuzz_case.h"
#include "tests/differential/random.h"

namespace modeld::test {

// Throws std::runtime_error, naming the op, where no proposal of its generator is accepted.
FuzzCase make_case(const CaseId& id);

// Ops of the schema for which cases can be made, by a generator of their own or the generic one;
// in the schema's order. The rest with its reason.
struct Coverage {
  std::vector<OpKind> generated;
  std::vector<std::pair<OpKind, std::string>> left_out;
};
const Coverage& coverage();

// Case `index` of a run from `seed`: three in four a single op, the kinds in turn, else a graph.
CaseId case_of_run(uint64_t seed, uint64_t index);

// A small float graph of well-conditioned ops, patterns that passes look for among them.
void make_graph(Random& random, FuzzCase& made);

}  // namespace modeld::test
