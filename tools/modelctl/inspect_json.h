// A model as one JSON document.
#pragma once

#include "tools/modelctl/model_source.h"
#include "tools/modelctl/report.h"

namespace modeld::modelctl {

// Where an intermediate lies in the arena and between which ops (both included) it is alive.
struct ArenaPlace {
  TensorId tensor;
  uint64_t offset;
  uint64_t bytes;
  uint32_t first;
  uint32_t last;
};

// By offset, then by first op.
std::vector<ArenaPlace> arena_map(const Program& program);

Json attribute_json(const AttributeValue& value);

Json inspect_json(const LoadedModel& loaded);

}  // namespace modeld::modelctl
