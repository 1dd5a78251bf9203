// A disk of a few megabytes that can be filled, for this process and those it starts only.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"

namespace modeld {

// The calling thread and its later children get mounts of their own. Used by one thread.
class SmallDisk {
 public:
  // `folder` is made. Where this may not be done (it takes root), error() says why.
  explicit SmallDisk(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
        mount("none", folder_.c_str(), "tmpfs", 0, "size=4m,mode=755")) {
      error_ = std::strerror(errno);
    }
  }
  ~SmallDisk() {
    if (mounted()) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  const std::filesystem::path& folder() const { return folder_; }

  // To the last byte.
  void fill() {
    const UniqueFd file(open((folder_ / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::vector<char> block(4096, 'x');
    while (write(file.get(), block.data(), block.size()) > 0) {
    }
  }
  void empty() { std::filesystem::remove(folder_ / "filler"); }

 private:
  const std::filesystem::path folder_;
  std::string error_;
};

}  // namespace modeld
