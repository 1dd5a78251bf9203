// NumPy files: what parses must format and parse again to the same array.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/npy/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = modeld::parse_npy(std::as_bytes(std::span(data, size)));
  if (!parsed.ok()) return 0;
  const auto formatted = modeld::format_npy(*parsed);
  if (!formatted.ok()) std::abort();
  const auto again = modeld::parse_npy(*formatted);
  if (!again.ok() || again->shape != parsed->shape || again->bytes != parsed->bytes) std::abort();
  return 0;
}
