// What a confined process may do with a file, or with everything below a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace modeld {

enum class FileAccess : uint8_t {
  kRead,       // read files, list folders
  kExecute,    // the same and execute (drivers that call a compiler or linker)
  kReadWrite,  // read, write, truncate what exists: one file, a device node's data
  kDevice,     // the same and ioctl
  kOwn,        // a folder of ours: also make and remove files, folders and sockets in it
};

struct FileRule {
  std::filesystem::path path;
  FileAccess access = FileAccess::kRead;
  // Without it the process cannot work; other rules are dropped where nothing is at `path`.
  bool required = false;
  bool operator==(const FileRule&) const = default;
};

using FileRules = std::vector<FileRule>;

}  // namespace modeld
