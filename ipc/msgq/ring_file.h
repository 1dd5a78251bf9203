// The file behind a ring: made with the size its topic states, mapped, watched.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "ipc/msgq/ring_view.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::ipc {

// Movable, not thread-safe. The ring stays usable until close or destruction.
class RingFile {
 public:
  // Opens `path` or makes it (0664 less the umask), with `data_bytes` of data. A file of another
  // size is refused (kRefused names both), never cut or grown: others have it mapped. Memory for
  // the whole file is set aside, so that a full /dev/shm is an error here and not a fault later.
  static Result<RingFile> open(const std::filesystem::path& path, uint64_t data_bytes);

  RingFile() = default;
  ~RingFile() { close(); }
  RingFile(RingFile&& other) noexcept;
  RingFile& operator=(RingFile&& other) noexcept;

  bool is_open() const { return fd_.valid(); }
  RingView ring() const;

  // Whether the whole file is still there behind the mapping: touching it would fault if not.
  bool intact() const;
  // Whether `path` still leads to this file, so that newcomers meet us here.
  bool in_place() const;

  // kIo if another process of ours already publishes to this file (a lock that ends with the
  // process) or if the thread that `write_uid` names runs in a process that has the file mapped.
  Status claim();

  const std::filesystem::path& path() const { return path_; }

 private:
  Status map();
  void close();
  Status check_foreign_writer() const;

  std::filesystem::path path_;
  UniqueFd fd_;
  std::byte* start_ = nullptr;
  size_t bytes_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace modeld::ipc
