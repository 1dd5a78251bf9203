// `output_slices` metadata as openpilot writes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace modeld::samples {

// One head: [start, stop) of the flattened output.
struct HeadSlice {
  std::string name;
  int64_t start = 0;
  int64_t stop = 0;
};

// The base64 text (76 columns, line breaks) of the protocol 4 pickle of
// {name: slice(start, stop, None)}, byte for byte what Python writes. Source: Python's
// pickletools documentation of the opcodes; interoperability facts 9.1. Names shorter than 256
// bytes, bounds 0..65535, at most 1000 slices (one batch of the pickler).
std::string encode_output_slices(std::span<const HeadSlice> slices);

}  // namespace modeld::samples
