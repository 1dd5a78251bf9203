// A listening AF_UNIX socket on a path that is ours alone.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::ipc {

// The longest path an AF_UNIX address can hold.
constexpr size_t kMaxSocketPath = 107;

// kInvalidArgument with both lengths for a path that does not fit.
Status check_socket_path(const std::filesystem::path& path);

// Binds and listens; removes the path again at the end, unless it is no longer the one it made (a
// successor's socket stays). Movable, not thread-safe.
class UnixListener {
 public:
  UnixListener() = default;
  ~UnixListener() { close(); }
  UnixListener(UnixListener&& other) noexcept;
  UnixListener& operator=(UnixListener&& other) noexcept;

  // `type` is SOCK_STREAM or SOCK_SEQPACKET; the socket is non-blocking and close-on-exec. A stale
  // socket file is replaced. kIo if somebody answers on the path, kRefused if what lies there is
  // not a socket.
  static Result<UnixListener> listen(const std::filesystem::path& path, int type, int backlog);

  int fd() const { return fd_.get(); }
  // Hands the descriptor to somebody who will close it; the path is still removed by close().
  int release_fd() { return fd_.release(); }
  void close();

 private:
  std::filesystem::path path_;  // empty: nothing to remove
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
  UniqueFd fd_;
};

}  // namespace modeld::ipc
