// Counts heap allocations of the whole process: "the steady state allocates nothing".
#pragma once

#include <cstdint>

namespace modeld::test {

// False under a sanitizer, which replaces malloc itself.
bool counts_allocations();

// malloc, calloc, realloc and aligned_alloc calls so far, of all threads.
uint64_t allocation_count();
// Those of the calling thread alone.
uint64_t thread_allocation_count();

}  // namespace modeld::test
