// From message inputs to what health says about them.
#pragma once

#include <span>
#include <vector>

#include "daemon/health/daemon_health.h"
#include "daemon/inputs/topic_inputs.h"

namespace modeld {

// Overwrites `facts`; allocates only the first time.
void report_inputs(const TopicInputs& inputs, Nanoseconds now, std::vector<InputFacts>& facts);

}  // namespace modeld
