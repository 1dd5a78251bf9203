// Contracts of models shaped like openpilot's, without networks behind them: for the digest
// device.
#pragma once

#include "runtime/artifact/model.h"

namespace modeld::test {

// Slices of the current small supercombo, 2580 wide (interoperability facts 4.3); pictures of
// 1344x760.
Contract driving_contract();
// The heads of interoperability facts 4.7, in one output; pictures of 1344x760.
Contract monitoring_contract();

// `contract` with an empty program and no weights.
Model model_of(Contract contract);

}  // namespace modeld::test
