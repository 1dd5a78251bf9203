// Whole small files, read and written with their limits stated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld {

// Reads a regular file of at most `max_bytes`; a longer one is refused naming both sizes.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, uint64_t max_bytes);
Result<std::string> read_text_file(const std::filesystem::path& path, uint64_t max_bytes);

// A whole NewFile (new_file.h): a reader sees the old or the new content, never half of one. `mode`
// is the permission of the file.
Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes,
                             unsigned mode = 0644);

// pread/write until all is done. A short read is kCorrupt ("expected N bytes, found M").
Status read_exactly(int fd, uint64_t offset, std::span<std::byte> out);
Status write_all(int fd, std::span<const std::byte> bytes);

}  // namespace modeld
