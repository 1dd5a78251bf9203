// A finished draft as a program with its weights.
#pragma once

#include <memory>

#include "runtime/program/program.h"
#include "runtime/program/weights.h"
#include "tools/compile/draft.h"

namespace modeld::compile {

struct AssembledProgram {
  Program program;
  std::shared_ptr<MemoryWeights> weights;
};

// Keeps what is used: inputs, states, results of ops and the constants they read. Names become
// unique (inputs, outputs and states keep theirs). Weights lie in the order of their first use,
// each on a 256-byte boundary; constants with equal bytes share a place. Deterministic. Empties the
// draft's constants as it goes, to keep memory low.
AssembledProgram assemble(Draft draft);

}  // namespace modeld::compile
