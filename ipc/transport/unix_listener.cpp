#include "ipc/transport/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace modeld::ipc {
namespace {

static_assert(sizeof(sockaddr_un::sun_path) == kMaxSocketPath + 1);

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), kMaxSocketPath);
  return address;
}

// Removes what a dead process left behind at `path`.
Status clear_stale_path(const std::filesystem::path& path, int type) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return errno_error("looking at the socket's place", errno).in(path.string());
  }
  if (!S_ISSOCK(info.st_mode)) {
    return Error(ErrorCode::kRefused, "something that is not a socket is in the socket's place")
        .in(path.string());
  }
  const UniqueFd probe(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return errno_error("socket", errno);
  const sockaddr_un address = address_of(path);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno != ECONNREFUSED) {
    // Not kRefused: whoever reads the exit code would look for fault in the artifact.
    return Error(ErrorCode::kIo, "another process already serves this socket")
        .in(path.string());
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return errno_error("removing a stale socket", errno).in(path.string());
  }
  return {};
}

}  // namespace

Status check_socket_path(const std::filesystem::path& path) {
  const size_t size = path.native().size();
  if (size > 0 && size <= kMaxSocketPath) return {};
  return Error(ErrorCode::kInvalidArgument, "socket path of a wrong length")
      .expecting("1 to " + std::to_string(kMaxSocketPath) + " characters", std::to_string(size));
}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_),
      fd_(std::move(other.fd_)) {}

UnixListener& UnixListener::operator=(UnixListener&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::exchange(other.path_, {});
  device_ = other.device_;
  inode_ = other.inode_;
  fd_ = std::move(other.fd_);
  return *this;
}

Result<UnixListener> UnixListener::listen(const std::filesystem::path& path, int type,
                                          int backlog) {
  MODELD_TRY(check_socket_path(path));
  MODELD_TRY(clear_stale_path(path, type));
  UnixListener made;
  made.fd_.reset(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.fd_.get() < 0) return errno_error("socket", errno);
  const sockaddr_un address = address_of(path);
  if (::bind(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return errno_error("bind", errno).in(path.string());
  }
  made.path_ = path;
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    made.device_ = info.st_dev;
    made.inode_ = info.st_ino;
  }
  if (::listen(made.fd(), backlog) != 0) return errno_error("listen", errno).in(path.string());
  return made;
}

void UnixListener::close() {
  const std::filesystem::path path = std::exchange(path_, {});
  struct stat info {};
  if (!path.empty() && ::lstat(path.c_str(), &info) == 0 && info.st_dev == device_ &&
      info.st_ino == inode_) {
    ::unlink(path.c_str());
  }
  fd_.reset();
}

}  // namespace modeld::ipc
