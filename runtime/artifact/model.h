// A model ready to be captured, whether it came from a file or was just compiled.
#pragma once

#include <memory>

#include "runtime/artifact/contract.h"
#include "runtime/program/program.h"
#include "runtime/program/weights.h"

namespace modeld {

struct Model {
  Contract contract;
  Program program;
  std::shared_ptr<WeightSource> weights;
};

// Checks that contract and program say the same: inputs, outputs, states and cameras by name,
// type and order; slices inside their outputs; reference outputs of the right length.
Status check_contract(const Contract& contract, const Program& program);

}  // namespace modeld
