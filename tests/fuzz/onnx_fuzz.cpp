// ONNX files: read, imported, folded, optimised and verified, or refused. A file must not cost
// more processor time or memory than its size excuses (graph bombs): the limit on time is here, the
// one on memory is libFuzzer's.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "tools/compile/compile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// A second of an optimised build; unoptimised, with sanitizers and coverage, that becomes ten.
constexpr double kMaxSeconds = 10;

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = ::memfd_create("model.onnx", MFD_CLOEXEC);
  if (file < 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  modeld::compile::CompileOptions options;
  options.make_references = false;
  const double start = processor_seconds();
  (void)modeld::compile::compile_onnx("/proc/self/fd/" + std::to_string(file), options);
  const double took = processor_seconds() - start;
  ::close(file);
  if (took > kMaxSeconds) {
    std::fprintf(stderr, "took %.1f s of processor time for %zu bytes\n", took, size);
    std::abort();
  }
  return 0;
}
