// The header of a safetensors file. The first eight bytes stand for the number of bytes behind it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tools/compile/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t data_bytes = 0;
  if (size < sizeof data_bytes) return 0;
  std::memcpy(&data_bytes, data, sizeof data_bytes);
  const auto header = std::as_bytes(std::span(data, size)).subspan(sizeof data_bytes);
  const auto index = modeld::compile::parse_safetensors_header(header, data_bytes);
  if (!index.ok()) return 0;
  uint64_t total = 0;
  for (const auto& [name, entry] : *index) {
    if (entry.end > data_bytes || entry.type.bytes() != entry.end - entry.begin) __builtin_trap();
    total += entry.end - entry.begin;
  }
  if (total != data_bytes) __builtin_trap();
  return 0;
}
