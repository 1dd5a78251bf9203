#include "daemon/privileges/system_call_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>
#include <vector>

namespace modeld {
namespace {

struct ReleaseFilter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, ReleaseFilter>;

// Everything is allowed but what rules forbid: GPU drivers use calls nobody can list in advance.
// The units add a list of what is allowed (SystemCallFilter=).
Result<Filter> new_filter() {
  Filter filter(seccomp_init(SCMP_ACT_ALLOW));
  if (!filter) return Error(ErrorCode::kInternal, "libseccomp gives no filter");
  // All threads, those of libraries included.
  const int wrong = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1);
  if (wrong != 0) return errno_error("system call filter for all threads", -wrong);
  return filter;
}

Status load(const Filter& filter) {
  const int wrong = seccomp_load(filter.get());
  if (wrong == 0) return {};
  Error error = errno_error("system call filter", -wrong);
  if (-wrong == EINVAL || -wrong == ENOSYS) error.code = ErrorCode::kUnsupported;
  return error;
}

Status forbid(const Filter& filter, int call, int answer) {
  const int wrong =
      seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(static_cast<uint32_t>(answer)), call, 0);
  // Calls this processor family never had need no rule.
  if (wrong == 0 || wrong == -EDOM) return {};
  return errno_error("system call rule", -wrong);
}

Status forbid_if(const Filter& filter, int call, int answer, scmp_arg_cmp condition) {
  const int wrong = seccomp_rule_add_array(
      filter.get(), SCMP_ACT_ERRNO(static_cast<uint32_t>(answer)), call, 1, &condition);
  if (wrong == 0 || wrong == -EDOM) return {};
  return errno_error("system call rule", -wrong);
}

// The library's own macros for this are C compound literals.
scmp_arg_cmp argument(unsigned index, scmp_compare comparison, uint64_t value, uint64_t other = 0) {
  return {index, comparison, value, other};
}

// Names of libseccomp, so that calls unknown to the headers of the machine resolve too.
constexpr std::array kNeverNeeded = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise",
    // the kernel itself
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "bpf",
    "perf_event_open", "reboot", "swapon", "swapoff", "syslog", "acct", "quotactl", "quotactl_fd",
    // ways around a filter or a file rule
    "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "open_by_handle_at",
    "name_to_handle_at", "mknod", "mknodat",
    // other views of the system
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "setns", "unshare",
    // keys, hardware, clocks
    "add_key", "request_key", "keyctl", "iopl", "ioperm", "settimeofday", "clock_settime",
    "clock_adjtime", "adjtimex", "stime", "sethostname", "setdomainname", "vhangup"};

Status forbid_by_name(const Filter& filter, const char* name) {
  const int call = seccomp_syscall_resolve_name(name);
  if (call == __NR_SCMP_ERROR) return {};  // unknown to this libseccomp: nothing to forbid
  return forbid(filter, call, EPERM);
}

// The family is compared as 64 bits, so a number with high bits set, which the kernel would cut,
// meets the last rule. A rule compares each argument once, hence a rule per family.
Status allow_socket_families(const Filter& filter, const std::vector<int>& allowed) {
  for (int family = 0; family < AF_NETLINK; ++family) {
    if (std::find(allowed.begin(), allowed.end(), family) != allowed.end()) continue;
    MODELD_TRY(forbid_if(filter, SCMP_SYS(socket), EAFNOSUPPORT,
                         argument(0, SCMP_CMP_EQ, static_cast<uint64_t>(family))));
  }
  MODELD_TRY(forbid_if(filter, SCMP_SYS(socket), EOPNOTSUPP, argument(0, SCMP_CMP_EQ, AF_NETLINK)));
  return forbid_if(filter, SCMP_SYS(socket), EAFNOSUPPORT, argument(0, SCMP_CMP_GT, AF_NETLINK));
}

// Which of clone's arguments holds the flags: the first, on every processor but s390.
Status forbid_new_namespaces(const Filter& filter) {
  for (const uint64_t flag :
       {static_cast<uint64_t>(CLONE_NEWNS), static_cast<uint64_t>(CLONE_NEWUSER),
        static_cast<uint64_t>(CLONE_NEWNET), static_cast<uint64_t>(CLONE_NEWPID),
        static_cast<uint64_t>(CLONE_NEWIPC), static_cast<uint64_t>(CLONE_NEWUTS),
        static_cast<uint64_t>(CLONE_NEWCGROUP)}) {
    MODELD_TRY(
        forbid_if(filter, SCMP_SYS(clone), EPERM, argument(0, SCMP_CMP_MASKED_EQ, flag, flag)));
  }
  // clone3 passes flags by pointer, which a filter cannot read; ENOSYS makes libc use clone.
  return forbid(filter, SCMP_SYS(clone3), ENOSYS);
}

}  // namespace

Status filter_start_up_calls(const SystemCallPolicy& policy) {
  MODELD_ASSIGN(const Filter filter, new_filter());
  std::vector<int> families = {AF_UNIX};
  if (policy.internet) families.insert(families.end(), {AF_INET, AF_INET6});
  MODELD_TRY(allow_socket_families(filter, families));
  for (const char* name : kNeverNeeded) {
    MODELD_TRY(forbid_by_name(filter, name));
  }
  MODELD_TRY(forbid_new_namespaces(filter));
  // Typing into the terminal of whoever started us. The request is 32 bits wide.
  MODELD_TRY(forbid_if(filter, SCMP_SYS(ioctl), EPERM,
                       argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffULL, TIOCSTI)));
  return load(filter);
}

Status filter_running_calls() {
  MODELD_ASSIGN(const Filter filter, new_filter());
  for (const char* name : {"execve", "execveat", "fork", "vfork"}) {
    MODELD_TRY(forbid_by_name(filter, name));
  }
  MODELD_TRY(
      forbid_if(filter, SCMP_SYS(clone), EPERM, argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)));
  return load(filter);
}

}  // namespace modeld
