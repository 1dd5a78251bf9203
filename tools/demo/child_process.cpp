#include "tools/demo/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "runtime/base/unique_fd.h"

namespace modeld {
namespace {

constexpr int kCannotExecute = 127;

// Between fork and exec only async-signal-safe calls are made.
[[noreturn]] void become(const char* program, char* const* arguments, int log, pid_t parent) {
  // A child that lost its parent before it could ask for this must not stay either.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(kCannotExecute);
  // A terminal's Ctrl-C goes to the foreground group: the parent ends its children in order.
  setpgid(0, 0);
  if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) _exit(kCannotExecute);
  execv(program, arguments);
  _exit(kCannotExecute);
}

ProcessEnd end_of(int status) {
  if (WIFSIGNALED(status)) return {true, WTERMSIG(status)};
  return {false, WEXITSTATUS(status)};
}

void nap() {
  const timespec pause{0, 5 * kMillisecond};
  nanosleep(&pause, nullptr);
}

}  // namespace

std::string ProcessEnd::text() const {
  return (by_signal ? "signal " : "exit code ") + std::to_string(number);
}

Result<ChildProcess> ChildProcess::start(const std::filesystem::path& program,
                                         const std::vector<std::string>& arguments,
                                         const std::filesystem::path& log) {
  const UniqueFd file(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return errno_error("opening " + log.string(), errno);
  std::string path = program.string();
  std::vector<std::string> words = arguments;
  std::vector<char*> pointers = {path.data()};
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return errno_error("starting " + path, errno);
  if (pid == 0) become(path.c_str(), pointers.data(), file.get(), parent);
  return ChildProcess(pid, program.filename().string());
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || end_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      name_(std::move(other.name_)),
      end_(std::move(other.end_)) {}

std::optional<ProcessEnd> ChildProcess::poll() {
  int status = 0;
  if (!end_ && waitpid(pid_, &status, WNOHANG) == pid_) end_ = end_of(status);
  return end_;
}

ProcessEnd ChildProcess::terminate(const Clock& clock, Nanoseconds grace, Nanoseconds& took) {
  const Nanoseconds begin = clock.monotonic();
  if (!poll()) kill(pid_, SIGTERM);
  bool killed = false;
  while (!poll()) {
    if (!killed && clock.monotonic() - begin > grace) {
      kill(pid_, SIGKILL);
      killed = true;
    }
    nap();
  }
  took += clock.monotonic() - begin;
  return *end_;
}

}  // namespace modeld
