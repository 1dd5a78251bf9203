// Tensor contents kept in files beside the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::compile {

// One tensor's place: ONNX `external_data` entries location, offset, length.
struct ExternalRange {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = 0;
};

// Reads only regular files inside one folder. Refused (kRefused, naming the location): absolute
// paths, `..`, symbolic links anywhere on the way, files with more than one hard link (the other
// name may lie outside), ranges beyond the file's end, ranges that overlap, more than `max_bytes`
// in all. Each file is opened once, checked and read through that descriptor, so a file replaced
// meanwhile does not matter; one written to or cut meanwhile is refused. Not thread-safe.
class ExternalData {
 public:
  ExternalData(std::filesystem::path folder, uint64_t max_bytes)
      : folder_(std::move(folder)), bytes_left_(max_bytes) {}

  Result<std::vector<std::byte>> read(const ExternalRange& range);

 private:
  struct File {
    UniqueFd fd;
    uint64_t size = 0;
    int64_t changed_ns = 0;              // when it was last written
    std::map<uint64_t, uint64_t> taken;  // offset -> end, not overlapping
  };

  Result<File*> open(const std::string& location);

  std::filesystem::path folder_;
  uint64_t bytes_left_;
  std::map<std::string, File> files_;
};

}  // namespace modeld::compile
