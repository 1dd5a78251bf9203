// Weights in a safetensors file: eight bytes with the header's length (little-endian), a JSON
// header
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//    "__metadata__": {"text": "text"}}
// and the elements, back to back. Source: the format's description in the safetensors README
// (huggingface/safetensors, "Format").
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/reference/host_tensor.h"

namespace modeld::compile {

struct SafetensorsLimits {
  uint64_t max_header_bytes = uint64_t{16} << 20;
  uint64_t max_tensors = 100'000;
  uint64_t max_rank = 8;
  uint64_t max_data_bytes = uint64_t{8} << 30;
};

struct SafetensorsEntry {
  TensorType type;
  uint64_t begin = 0;  // bytes behind the header
  uint64_t end = 0;
};

using SafetensorsIndex = std::map<std::string, SafetensorsEntry>;

// The index of a file whose header (the JSON alone) is `header` and which has `data_bytes` bytes
// behind it. Refused: names or keys given twice, unknown keys, dtypes the runtime does not have,
// shapes that do not fit their bytes, ranges outside the data, overlapping or with holes between
// them, anything over the limits. Safe for hostile bytes.
Result<SafetensorsIndex> parse_safetensors_header(std::span<const std::byte> header,
                                                  uint64_t data_bytes,
                                                  const SafetensorsLimits& limits = {});

// An opened file; every tensor is read through the descriptor that was checked. Not thread-safe.
class Safetensors {
 public:
  // kRefused or kCorrupt as above, and for anything that is no regular file.
  static Result<Safetensors> open(const std::filesystem::path& path,
                                  const SafetensorsLimits& limits = {});

  const SafetensorsIndex& index() const { return index_; }
  // Contents of one entry of index(). kRefused if the file has changed since it was opened.
  Result<HostTensor> read(const SafetensorsEntry& entry) const;
  // Of the whole file, hex.
  Result<std::string> sha256() const;

 private:
  Safetensors(UniqueFd fd, uint64_t data_start, SafetensorsIndex index)
      : fd_(std::move(fd)), data_start_(data_start), index_(std::move(index)) {}

  Status check_unchanged() const;

  UniqueFd fd_;
  uint64_t data_start_;
  SafetensorsIndex index_;
  uint64_t file_bytes_ = 0;
  int64_t changed_ns_ = 0;
};

}  // namespace modeld::compile
