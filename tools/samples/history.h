// Queues around the driving look-alike, inside the graph.
#pragma once

#include "tools/samples/graph_builder.h"

namespace modeld::samples {

// Declares the inputs and outputs of facts/openpilot-interop 4.4, era F, and adds the history
// rules of 4.5 around driving_network(): every `next_state_*` output is the `state_*` input of the
// following frame.
void driving_network_with_history(GraphBuilder& graph);

}  // namespace modeld::samples
