#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MODELD_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MODELD_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef MODELD_COUNTS_ALLOCATIONS
#define MODELD_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<uint64_t> allocations{0};
// initial-exec: the dynamic model would allocate at a thread's first use.
__attribute__((tls_model("initial-exec"))) thread_local uint64_t thread_allocations = 0;
}

#if MODELD_COUNTS_ALLOCATIONS
// glibc's own entry points, under the names it keeps for those who replace malloc.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++allocations;
  ++thread_allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  ++thread_allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++allocations;
  ++thread_allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  ++thread_allocations;
  return __libc_memalign(alignment, size);
}
}
#endif

namespace modeld::test {

bool counts_allocations() {
  return MODELD_COUNTS_ALLOCATIONS != 0;
}

uint64_t allocation_count() {
  return allocations.load();
}

uint64_t thread_allocation_count() {
  return thread_allocations;
}

}  // namespace modeld::test
