// A file in the making: until it is whole, nobody sees it under its name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld {

// Written under a temporary name in the folder of `path`, then renamed: a reader sees the old or
// the new file, never half of one. The destructor removes what was not kept. Not thread-safe.
class NewFile {
 public:
  // Refused where something that is not a regular file has the name (a device or a folder would be
  // replaced); where it is a link, the file behind it will be the one replaced.
  static Result<NewFile> create(const std::filesystem::path& path);
  ~NewFile();
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;

  int fd() const { return fd_.get(); }

  // Gives the file its permissions and its name, once it is on the disk.
  Status keep(unsigned mode);

 private:
  NewFile(std::filesystem::path path, std::string temporary, UniqueFd fd);

  std::filesystem::path path_;
  std::string temporary_;
  UniqueFd fd_;
  size_t listed_;  // where remove_unfinished_files() finds it
};

// Whether a file could be made there, for those who have hours of work to do first. Makes nothing.
Status check_new_file(const std::filesystem::path& path);

// Takes away every NewFile that was not kept, for a process that is about to end without
// destructors. May be called in a signal handler.
void remove_unfinished_files() noexcept;

}  // namespace modeld
