// A look at the outline of an ONNX file before protobuf builds objects from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/result.h"

namespace modeld::compile {

struct OnnxLimits {
  uint64_t max_file_bytes = (uint64_t{2} << 30) - 1;  // protobuf's own limit
  // Everything but tensor contents and comments. Protobuf turns a two-byte empty message into an
  // object of up to two hundred bytes, so it is these numbers that bound the memory of parsing.
  uint64_t max_structure_bytes = uint64_t{16} << 20;
  uint64_t max_fields = 3'000'000;  // of graphs, nodes, attributes and tensors
  uint64_t max_nodes = 100'000;
  int max_depth = 32;  // of nested messages
  // Sum of the ranges of external data files.
  uint64_t max_external_bytes = uint64_t{8} << 30;
};

struct WireCounts {
  uint64_t nodes = 0;
  uint64_t structure_bytes = 0;
  uint64_t fields = 0;
};

// Walks the wire format (protobuf encoding, field numbers of onnx.proto) without allocating.
// kCorrupt for broken encoding, kRefused for a file over the limits.
Result<WireCounts> scan_model(std::span<const std::byte> file, const OnnxLimits& limits);

}  // namespace modeld::compile
