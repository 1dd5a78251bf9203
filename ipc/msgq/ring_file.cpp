#include "ipc/msgq/ring_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "ipc/msgq/thread_wake.h"

namespace modeld::ipc {
namespace {

constexpr int kMaxAttempts = 8;

// O_CREAT is given only when there is no file: with fs.protected_regular even root may not open
// another user's file in a sticky directory that way.
Result<UniqueFd> open_or_make(const std::filesystem::path& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (int i = 0; i < kMaxAttempts; ++i) {
    UniqueFd fd(::open(path.c_str(), kFlags));
    if (!fd.valid() && errno == ENOENT) {
      fd.reset(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0664));
    }
    if (fd.valid()) return fd;
    if (errno == ENOENT) {
      return Error(ErrorCode::kNotFound, "the folder for rings does not exist")
          .in(path.parent_path().string());
    }
    if (errno != EEXIST) break;
  }
  const ErrorCode code = errno == EACCES ? ErrorCode::kPermission : ErrorCode::kIo;
  Error error = errno_error("opening a ring", errno);
  error.code = code;
  return std::move(error).in(path.string());
}

Status settle_size(int fd, uint64_t bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error("fstat", errno);
  if (!S_ISREG(info.st_mode)) return Error(ErrorCode::kRefused, "not a regular file");
  // New, by us or by somebody who is about to do the same.
  if (info.st_size == 0) {
    if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return errno_error("ftruncate", errno);
    if (::fstat(fd, &info) != 0) return errno_error("fstat", errno);
  }
  if (static_cast<uint64_t>(info.st_size) != bytes) {
    return Error(ErrorCode::kRefused,
                 "the topic's ring has another size: its owner is of another "
                 "generation, and resizing it would break him")
        .expecting(std::to_string(bytes) + " bytes", std::to_string(info.st_size));
  }
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
      errno != EOPNOTSUPP) {
    return errno_error("setting memory aside for a ring", errno);
  }
  return {};
}

// "05:1a 1234 ..." of /proc/<tid>/maps: whether the process has this file mapped. Nothing if that
// cannot be known.
std::optional<bool> maps_file(uint32_t thread, ino_t inode) {
  std::ifstream maps("/proc/" + std::to_string(thread) + "/maps");
  if (!maps.is_open()) return std::nullopt;
  bool any = false;
  for (std::string line; std::getline(maps, line);) {
    any = true;
    std::istringstream fields(line);
    std::string range, rights, offset, device;
    uint64_t found = 0;
    fields >> range >> rights >> offset >> device >> found;
    if (found == inode) return true;
  }
  return any ? std::optional(false) : std::nullopt;
}

}  // namespace

Result<RingFile> RingFile::open(const std::filesystem::path& path, uint64_t data_bytes) {
  RingFile file;
  file.path_ = path;
  file.bytes_ = data_bytes + kRingHeaderBytes;
  MODELD_ASSIGN(file.fd_, open_or_make(path));
  if (auto sized = settle_size(file.fd_.get(), file.bytes_); !sized.ok()) {
    return std::move(sized).error().in(path.string());
  }
  if (auto mapped = file.map(); !mapped.ok()) return std::move(mapped).error().in(path.string());
  return file;
}

Status RingFile::map() {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return errno_error("fstat", errno);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  const int populate = std::getenv("MSGQ_PREALLOC") != nullptr ? MAP_POPULATE : 0;
  void* start =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | populate, fd_.get(), 0);
  if (start == MAP_FAILED) return errno_error("mapping a ring", errno);
  start_ = static_cast<std::byte*>(start);
  auto ring = RingView::over({start_, bytes_});
  return ring.ok() ? Status() : Status(std::move(ring).error());
}

void RingFile::close() {
  if (start_ != nullptr) ::munmap(std::exchange(start_, nullptr), bytes_);
  fd_.reset();
}

RingFile::RingFile(RingFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::move(other.fd_)),
      start_(std::exchange(other.start_, nullptr)),
      bytes_(other.bytes_),
      device_(other.device_),
      inode_(other.inode_) {}

RingFile& RingFile::operator=(RingFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  fd_ = std::move(other.fd_);
  start_ = std::exchange(other.start_, nullptr);
  bytes_ = other.bytes_;
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

RingView RingFile::ring() const {
  return *RingView::over({start_, bytes_});  // checked by map()
}

bool RingFile::intact() const {
  struct stat info {};
  return ::fstat(fd_.get(), &info) == 0 && static_cast<uint64_t>(info.st_size) >= bytes_;
}

bool RingFile::in_place() const {
  struct stat info {};
  return ::stat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_ &&
         static_cast<uint64_t>(info.st_size) == bytes_;
}

Status RingFile::check_foreign_writer() const {
  const auto thread = static_cast<uint32_t>(ring().write_uid().load());
  if (thread == 0 || !thread_exists(thread) || is_own_thread(thread)) return {};
  // A number may have been given out again since: only somebody who has the file can be publishing.
  if (!maps_file(thread, inode_).value_or(true)) return {};
  return Error(ErrorCode::kIo,
               "thread " + std::to_string(thread) + " of another process publishes this topic")
      .in(path_.string());
}

Status RingFile::claim() {
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error("locking a ring", errno).in(path_.string());
    return Error(ErrorCode::kIo, "the topic already has a publisher").in(path_.string());
  }
  return check_foreign_writer();
}

}  // namespace modeld::ipc
