#include "daemon/privileges/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "runtime/base/unique_fd.h"

namespace modeld {
namespace {

// Access bits newer than the headers of Debian 12 (ABI 3, ABI 5) and the attribute of ABI 4.
constexpr uint64_t kTruncate = 1ULL << 14;
constexpr uint64_t kIoctlDevice = 1ULL << 15;
constexpr uint64_t kBindTcp = 1ULL << 0;
constexpr uint64_t kConnectTcp = 1ULL << 1;
struct RulesetAttributes {
  uint64_t files = 0;
  uint64_t network = 0;
};

constexpr uint64_t kReadBits = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteBits = LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr uint64_t kMakeBits = LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                               LANDLOCK_ACCESS_FS_REMOVE_DIR |
                               LANDLOCK_ACCESS_FS_REFER;  // from one folder in it to another
// Of a rule on a file (not a folder) the kernel takes only these.
constexpr uint64_t kFileBits = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                               LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDevice;

uint64_t handled_bits(int abi) {
  uint64_t bits = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all of ABI 1
  if (abi >= 2) bits |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) bits |= kTruncate;
  if (abi >= 5) bits |= kIoctlDevice;
  return bits;
}

uint64_t bits_of(FileAccess access) {
  switch (access) {
    case FileAccess::kRead:
      return kReadBits;
    case FileAccess::kExecute:
      return kReadBits | LANDLOCK_ACCESS_FS_EXECUTE;
    case FileAccess::kReadWrite:
      return kReadBits | kWriteBits;
    case FileAccess::kDevice:
      return kReadBits | kWriteBits | kIoctlDevice;
    case FileAccess::kOwn:
      return kReadBits | kWriteBits | kMakeBits;
  }
  return 0;
}

Status add_rule(int ruleset, const FileRule& rule, uint64_t handled) {
  const UniqueFd target(open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (!target.valid()) {
    if (!rule.required && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) return {};
    const int why = errno;
    Error error = errno_error("cannot confine to '" + rule.path.string() + "'", why);
    if (why == ENOENT || why == ENOTDIR) error.code = ErrorCode::kNotFound;
    return error;
  }
  struct stat status {};
  if (fstat(target.get(), &status) != 0) return errno_error("stat " + rule.path.string(), errno);
  landlock_path_beneath_attr attribute{};
  attribute.parent_fd = target.get();
  attribute.allowed_access = bits_of(rule.access) & handled;
  if (!S_ISDIR(status.st_mode)) attribute.allowed_access &= kFileBits;
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attribute, 0) != 0) {
    return errno_error("landlock rule for '" + rule.path.string() + "'", errno);
  }
  return {};
}

}  // namespace

int landlock_abi() {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Status restrict_files(const FileRules& rules, bool forbid_tcp) {
  errno = 0;
  const int abi = landlock_abi();
  if (abi == 0) {
    const int why = errno;
    return Error(ErrorCode::kUnsupported, "the kernel cannot confine files to a list")
        .expecting(
            "Landlock (Linux 5.13 or newer, 'landlock' among the boot option lsm=, not "
            "forbidden by a system call filter of the service manager)",
            std::strerror(why));
  }
  RulesetAttributes attributes;
  attributes.files = handled_bits(abi);
  if (forbid_tcp && abi >= 4) attributes.network = kBindTcp | kConnectTcp;
  // An older kernel knows the first member only.
  const size_t size = abi >= 4 ? sizeof attributes : sizeof attributes.files;
  const UniqueFd ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.valid()) return errno_error("landlock ruleset", errno);
  for (const FileRule& rule : rules) {
    MODELD_TRY(add_rule(ruleset.get(), rule, attributes.files));
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error("no_new_privs", errno);
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return errno_error("landlock restriction", errno);
  }
  return {};
}

}  // namespace modeld
