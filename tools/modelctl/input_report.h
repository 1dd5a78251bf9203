// The table of what the ways in for pixels cost.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/modelctl/input_bench.h"
#include "tools/modelctl/report.h"

namespace modeld::modelctl {

Json input_costs_json(const std::vector<InputCost>& costs);
void print_input_costs(const std::vector<InputCost>& costs);

}  // namespace modeld::modelctl
