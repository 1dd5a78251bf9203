#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cstdlib>

#include "runtime/base/sanitized.h"

namespace {
std::atomic<uint64_t> allocations{0};
// initial-exec: the dynamic model would allocate at a thread's first use.
__attribute__((tls_model("initial-exec"))) thread_local uint64_t thread_allocations = 0;
}  // namespace

#if !MODELD_SANITIZED
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
  return !kSanitized;
}

uint64_t allocation_count() {
  return allocations.load();
}

uint64_t thread_allocation_count() {
  return thread_allocations;
}

}  // namespace modeld::test
