// Removes ops whose results nobody reads.
#pragma once

#include "tools/compile/passes/pass.h"

namespace modeld::compile {

Result<Changes> remove_dead_code(Draft& draft);

}  // namespace modeld::compile
