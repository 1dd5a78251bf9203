#include "tools/modelctl/model_store.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "runtime/base/file.h"

namespace modeld::modelctl {
namespace {

constexpr size_t kMaxName = 100;
constexpr size_t kCopyBytes = 4 * 1024 * 1024;
constexpr std::string_view kSuffix = ".model";

std::string previous_of(const std::string& name) {
  return name + ".previous";
}
// Left behind by a crash at worst; the next install takes it away.
std::string new_of(const std::string& name) {
  return "." + name + ".new";
}

// Goes with the guard unless it was put in place.
class TemporaryFile {
 public:
  TemporaryFile(int folder, std::string name) : folder_(folder), name_(std::move(name)) {
    ::unlinkat(folder_, name_.c_str(), 0);
  }
  ~TemporaryFile() { ::unlinkat(folder_, name_.c_str(), 0); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& name() const { return name_; }

 private:
  const int folder_;
  const std::string name_;
};

Result<UniqueFd> open_source(const std::filesystem::path& source) {
  // O_NONBLOCK: a FIFO must not make us wait; it is refused below.
  UniqueFd fd(::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errno_error("opening " + source.string(), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("opening " + source.string(), errno);
  if (!S_ISREG(info.st_mode)) {
    return Error(ErrorCode::kRefused, source.string() + " is not a model file")
        .expecting("a regular file", "a folder, device or pipe");
  }
  return fd;
}

Status copy(int from, int to) {
  std::vector<std::byte> chunk(kCopyBytes);
  while (true) {
    const ssize_t n = ::read(from, chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("reading", errno);
    if (n == 0) return {};
    MODELD_TRY(write_all(to, std::span(chunk).first(static_cast<size_t>(n))));
  }
}

Status copy_file(const std::filesystem::path& source, int folder, const std::string& name) {
  MODELD_ASSIGN(const UniqueFd from, open_source(source));
  const UniqueFd to(::openat(folder, name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR));
  if (!to.valid()) return errno_error("creating " + name, errno);
  MODELD_TRY(copy(from.get(), to.get()));
  if (::fchmod(to.get(), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0) {
    return errno_error("setting the mode of " + name, errno);
  }
  if (::fsync(to.get()) != 0) return errno_error("flushing " + name, errno);
  return {};
}

}  // namespace

Result<ModelStore> ModelStore::open(const std::filesystem::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return errno_error("opening the folder " + folder.string(), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("opening " + folder.string(), errno);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error(ErrorCode::kRefused, folder.string() + ": group or others can write it")
        .expecting("mode 0755 or less", "a mode with more");
  }
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return Error(ErrorCode::kRefused, "owner of " + folder.string())
        .expecting("root or user " + std::to_string(::geteuid()),
                   "user " + std::to_string(info.st_uid));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error("locking " + folder.string(), errno);
    return Error(ErrorCode::kDeadline, "another process installs into " + folder.string());
  }
  return ModelStore(folder, std::move(fd));
}

Status ModelStore::check_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (plain && !name.starts_with('.') && name.size() > kSuffix.size() && name.ends_with(kSuffix) &&
      name.size() <= kMaxName) {
    return {};
  }
  return Error(ErrorCode::kInvalidArgument, "name of an installed model")
      .expecting("letters, digits, '-', '_' and '.', ending in .model", "'" + name + "'");
}

Result<std::string> ModelStore::digest_of(const std::string& name) const {
  struct stat info {};
  if (::fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::string();
    return errno_error("looking at " + name, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error(ErrorCode::kRefused, (folder_ / name).string() + " is not ours to replace")
        .expecting("a regular file", S_ISLNK(info.st_mode) ? "a symbolic link" : "something else");
  }
  const TrustPolicy any{.keys = {}, .allow_unsigned = true, .require_private_file = false};
  const auto artifact = Artifact::open(folder_ / name, any);
  // Whatever it is that nobody can run: it is replaced and kept all the same.
  return artifact.ok() ? to_hex(artifact->digest()) : std::string("unreadable");
}

Result<Artifact> ModelStore::examine_file(const std::string& name, const TrustPolicy& trust,
                                          const Requirements& requirements,
                                          const Examine& examine) const {
  MODELD_ASSIGN(Artifact artifact, Artifact::open(folder_ / name, trust, requirements));
  MODELD_TRY(artifact.verify_weights());
  MODELD_TRY(examine(artifact));
  return artifact;
}

Result<bool> ModelStore::same_file(const std::string& a, const std::string& b) const {
  std::array<UniqueFd, 2> files;
  std::array<struct stat, 2> info{};
  for (size_t i = 0; i < 2; ++i) {
    const std::string& name = i == 0 ? a : b;
    files[i] = UniqueFd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!files[i].valid() || ::fstat(files[i].get(), &info[i]) != 0) {
      return errno_error("comparing " + name, errno);
    }
  }
  if (info[0].st_size != info[1].st_size) return false;
  std::vector<std::byte> left(kCopyBytes), right(kCopyBytes);
  const auto size = static_cast<uint64_t>(info[0].st_size);
  for (uint64_t at = 0; at < size; at += kCopyBytes) {
    const size_t length = std::min<uint64_t>(kCopyBytes, size - at);
    MODELD_TRY(read_exactly(files[0].get(), at, std::span(left).first(length)));
    MODELD_TRY(read_exactly(files[1].get(), at, std::span(right).first(length)));
    if (!std::equal(left.begin(), left.begin() + static_cast<ptrdiff_t>(length), right.begin())) {
      return false;
    }
  }
  return true;
}

Status ModelStore::flush() const {
  if (::fsync(fd_.get()) == 0) return {};
  return errno_error("flushing " + folder_.string(), errno);
}

// By a second name for the same file: at no moment is there no file of the first name.
Status ModelStore::keep_as_previous(const std::string& name) const {
  const TemporaryFile link(fd_.get(), "." + previous_of(name) + ".new");
  if (::linkat(fd_.get(), name.c_str(), fd_.get(), link.name().c_str(), 0) != 0) {
    return errno_error("keeping " + name, errno);
  }
  if (::renameat(fd_.get(), link.name().c_str(), fd_.get(), previous_of(name).c_str()) != 0) {
    return errno_error("keeping " + name, errno);
  }
  return flush();
}

Result<ModelStore::Change> ModelStore::install(const std::filesystem::path& source,
                                               const std::string& name, const TrustPolicy& trust,
                                               const Requirements& requirements,
                                               const Examine& examine) {
  MODELD_TRY(check_name(name));
  Change change;
  MODELD_ASSIGN(change.previous, digest_of(name));
  const TemporaryFile copied(fd_.get(), new_of(name));
  MODELD_TRY(copy_file(source, fd_.get(), copied.name()));
  MODELD_ASSIGN(const Artifact artifact, examine_file(copied.name(), trust, requirements, examine));
  change.digest = to_hex(artifact.digest());
  if (change.digest == change.previous) {
    MODELD_ASSIGN(const bool same, same_file(name, copied.name()));
    change.changed = !same;
    if (same) return change;
  }
  if (!change.previous.empty()) MODELD_TRY(keep_as_previous(name));
  if (::renameat(fd_.get(), copied.name().c_str(), fd_.get(), name.c_str()) != 0) {
    return errno_error("putting " + name + " in place", errno);
  }
  MODELD_TRY(flush());
  return change;
}

Result<ModelStore::Change> ModelStore::roll_back(const std::string& name, const TrustPolicy& trust,
                                                 const Requirements& requirements,
                                                 const Examine& examine) {
  MODELD_TRY(check_name(name));
  const std::string previous = previous_of(name);
  Change change;
  MODELD_ASSIGN(change.previous, digest_of(name));
  MODELD_ASSIGN(change.digest, digest_of(previous));
  if (change.digest.empty()) {
    return Error(ErrorCode::kNotFound, "nothing to go back to")
        .expecting((folder_ / previous).string(), "no such file");
  }
  MODELD_ASSIGN(const Artifact artifact, examine_file(previous, trust, requirements, examine));
  change.digest = to_hex(artifact.digest());
  // In one step; without a current file there is nothing to exchange with.
  const unsigned flags = change.previous.empty() ? 0 : RENAME_EXCHANGE;
  if (::syscall(SYS_renameat2, fd_.get(), previous.c_str(), fd_.get(), name.c_str(), flags) != 0) {
    return errno_error("exchanging " + name + " and " + previous, errno);
  }
  MODELD_TRY(flush());
  return change;
}

}  // namespace modeld::modelctl
