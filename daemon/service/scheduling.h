// What this process asks of the scheduler.
#pragma once

#include <cstdint>

#include "runtime/base/result.h"

namespace modeld {

// Puts every thread the process has now under SCHED_FIFO at `priority` (1 to 99); threads they
// start later inherit it. kPermission where the system does not allow it: a request, so the caller
// warns and goes on.
Status run_in_real_time(uint32_t priority);

// run_in_real_time(), if `priority` is not 0; says in the log how it went.
void ask_for_real_time(uint32_t priority);

// Keeps the pages this process has (MCL_CURRENT; those not touched yet from when they are) in
// memory. Says in the log how it went; where it is not allowed the process goes on without.
void ask_for_locked_memory();

// Compute threads for a daemon that was told no number: half of the processors this process may
// use, because the other daemon needs the other half; at least 1, at most 4.
uint32_t share_of_processors();

}  // namespace modeld
