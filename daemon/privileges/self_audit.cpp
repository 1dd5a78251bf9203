#include "daemon/privileges/self_audit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "runtime/base/unique_fd.h"

namespace modeld {
namespace {

// Answers to an attempt that something forbade; any other answer came from the thing itself.
bool refused(int why) {
  return why == EACCES || why == EPERM || why == EROFS || why == EAFNOSUPPORT || why == EOPNOTSUPP;
}

bool absent(int why) {
  return why == ENOENT || why == ENOTDIR || why == ENXIO || why == ENODEV;
}

// `attempt` gives 0 where it worked, else errno.
AuditFinding judge(std::string name, const std::function<int()>& attempt) {
  const int why = attempt();
  if (why == 0) return {std::move(name), Check::kFailed, "worked"};
  const std::string text = std::strerror(why);
  if (refused(why)) return {std::move(name), Check::kPassed, text};
  if (absent(why)) return {std::move(name), Check::kNotApplicable, text};
  return {std::move(name), Check::kFailed, "was not refused: " + text};
}

int try_socket(int family, int type, int protocol) {
  const UniqueFd made(socket(family, type | SOCK_CLOEXEC, protocol));
  return made.valid() ? 0 : errno;
}

int try_open(const std::string& path, int flags) {
  const UniqueFd made(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
  return made.valid() ? 0 : errno;
}

// A file without a name, gone when closed. Where the file system has no such files, the attempt got
// past every ban.
int try_make_file(const std::string& folder) {
  const int why = try_open(folder, O_TMPFILE | O_WRONLY);
  return why == EOPNOTSUPP || why == EISDIR ? 0 : why;
}

// The path does not exist, so a process that may execute hears ENOENT and goes on as it was.
int try_execute() {
  char name[] = "modeld-audit";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  execve("/proc/self/modeld-audit-no-such-program", arguments, environment);
  return errno == ENOENT ? 0 : errno;
}

// The first controllers and chip selects an SPI bus can have; a list of /dev is itself forbidden.
AuditFinding audit_spi() {
  AuditFinding worst{"open /dev/spidev*", Check::kNotApplicable, std::strerror(ENOENT)};
  for (int bus = 0; bus < 4; ++bus) {
    for (int chip = 0; chip < 4; ++chip) {
      const std::string path = "/dev/spidev" + std::to_string(bus) + "." + std::to_string(chip);
      AuditFinding one = judge(worst.name, [&] { return try_open(path, O_RDWR); });
      one.text = path + ": " + one.text;
      if (one.result == Check::kFailed) return one;
      if (one.result == Check::kPassed) worst = std::move(one);
    }
  }
  return worst;
}

}  // namespace

std::vector<AuditFinding> audit_privileges(const AuditScope& scope) {
  // Values of linux/can.h; the header is not everywhere and we never want more of it.
  constexpr int kCanRaw = 1;
  std::vector<AuditFinding> findings;
  findings.push_back(judge("socket AF_CAN", [] { return try_socket(AF_CAN, SOCK_RAW, kCanRaw); }));
  findings.push_back(judge("socket AF_PACKET", [] { return try_socket(AF_PACKET, SOCK_RAW, 0); }));
  findings.push_back(
      judge("socket AF_NETLINK", [] { return try_socket(AF_NETLINK, SOCK_RAW, 0); }));
  if (!scope.internet) {
    findings.push_back(judge("socket AF_INET", [] { return try_socket(AF_INET, SOCK_STREAM, 0); }));
  }
  findings.push_back(
      judge("list /dev/bus/usb", [] { return try_open("/dev/bus/usb", O_RDONLY | O_DIRECTORY); }));
  findings.push_back(audit_spi());
  for (const std::string& file : scope.foreign_files) {
    findings.push_back(judge("write " + file, [&] { return try_open(file, O_RDWR); }));
  }
  for (const std::string& folder : scope.foreign_folders) {
    findings.push_back(judge("make a file in " + folder, [&] { return try_make_file(folder); }));
  }
  findings.push_back(judge("execute a program", [] { return try_execute(); }));
  return findings;
}

Status audit_verdict(const std::vector<AuditFinding>& findings) {
  std::string worked;
  for (const AuditFinding& finding : findings) {
    if (finding.result == Check::kPassed || finding.result == Check::kNotApplicable) continue;
    worked += (worked.empty() ? "" : "; ") + finding.name + ": " + finding.text;
  }
  if (worked.empty()) return {};
  return Error(ErrorCode::kPermission, "the process can do what it must not")
      .expecting("every attempt of the self-audit refused", std::move(worked));
}

}  // namespace modeld
