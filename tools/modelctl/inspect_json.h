// A model as one JSON document.
#pragma once

#include "tools/modelctl/model_source.h"
#include "tools/modelctl/report.h"

namespace modeld::modelctl {

Json inspect_json(const LoadedModel& loaded);

}  // namespace modeld::modelctl
