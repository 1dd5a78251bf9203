#include "runtime/base/new_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace modeld {
namespace {

// Names of temporary files. Storage that is never freed, because a signal may come at any moment.
struct Unfinished {
  std::atomic<bool> taken{false};
  std::atomic<bool> named{false};
  char path[PATH_MAX];
};

constexpr size_t kListed = 16;  // more at once are only not removed by a signal
std::array<Unfinished, kListed> unfinished;

size_t enlist(const std::string& path) {
  for (size_t i = 0; i < kListed; ++i) {
    Unfinished& entry = unfinished[i];
    if (path.size() >= sizeof entry.path || entry.taken.exchange(true)) continue;
    std::memcpy(entry.path, path.c_str(), path.size() + 1);
    entry.named = true;
    return i;
  }
  return kListed;
}

void strike_off(size_t listed) {
  if (listed >= kListed) return;
  unfinished[listed].named = false;
  unfinished[listed].taken = false;
}

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return S_ISFIFO(mode) ? "a pipe" : "a socket";
}

Result<std::filesystem::path> replaceable(const std::filesystem::path& path) {
  if (path.empty()) {
    return Error(ErrorCode::kInvalidArgument, "name of the file to write")
        .expecting("a path", "nothing");
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return path;  // nothing there, or creating says what is wrong
  if (!S_ISREG(info.st_mode)) {
    return Error(ErrorCode::kInvalidArgument, path.string() + " cannot be written anew")
        .expecting("a regular file or nothing there", kind_of(info.st_mode));
  }
  struct stat itself {};
  if (::lstat(path.c_str(), &itself) != 0 || !S_ISLNK(itself.st_mode)) return path;
  std::error_code failure;
  std::filesystem::path behind = std::filesystem::canonical(path, failure);
  if (failure) return errno_error("resolving " + path.string(), failure.value());
  return behind;
}

}  // namespace

NewFile::NewFile(std::filesystem::path path, std::string temporary, UniqueFd fd)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      fd_(std::move(fd)),
      listed_(enlist(temporary_)) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::move(other.fd_)),
      listed_(std::exchange(other.listed_, kListed)) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  strike_off(listed_);
}

Result<NewFile> NewFile::create(const std::filesystem::path& path) {
  MODELD_ASSIGN(std::filesystem::path target, replaceable(path));
  std::string temporary = target.string() + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return errno_error("creating a file beside " + path.string(), errno);
  return NewFile(std::move(target), std::move(temporary), std::move(fd));
}

Status NewFile::keep(unsigned mode) {
  if (::fchmod(fd_.get(), static_cast<mode_t>(mode)) != 0) {
    return errno_error("setting the mode of " + temporary_, errno);
  }
  if (::fsync(fd_.get()) != 0) return errno_error("flushing " + temporary_, errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    return errno_error("renaming " + temporary_ + " to " + path_.string(), errno);
  temporary_.clear();
  return {};
}

Status check_new_file(const std::filesystem::path& path) {
  MODELD_ASSIGN(const std::filesystem::path target, replaceable(path));
  const std::filesystem::path folder =
      target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return errno_error("creating a file beside " + path.string(), errno);
  }
  return {};
}

void remove_unfinished_files() noexcept {
  for (const Unfinished& entry : unfinished) {
    if (entry.named) ::unlink(entry.path);
  }
}

}  // namespace modeld
