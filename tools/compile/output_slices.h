// The ONNX property `output_slices` of openpilot's networks: base64 of a Python pickle of a
// dictionary {name: slice(start, stop, step)} (interoperability facts 9.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace modeld::compile {

// Bounds as written: negative ones count from the end, absent ones are Python's None.
struct NamedSlice {
  std::string name;
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
  std::optional<int64_t> step;
  bool operator==(const NamedSlice&) const = default;
};

struct SliceBounds {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  bool operator==(const SliceBounds&) const = default;
};

// Reads just the opcodes such a dictionary needs, of protocols 0 to 5; nothing is ever called or
// looked up. Any other opcode, global or kind of value is refused by name (kRefused); broken or
// oversized data is kCorrupt. In the order of the dictionary.
Result<std::vector<NamedSlice>> read_slice_pickle(std::span<const std::byte> pickle);
Result<std::vector<NamedSlice>> decode_output_slices(std::string_view base64);

// As Python's slice.indices(total). kCorrupt for step 0.
Result<SliceBounds> resolve_slice(const NamedSlice& slice, int64_t total);

}  // namespace modeld::compile
