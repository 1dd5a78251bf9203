#include "daemon/supervise/spawner.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "daemon/supervise/packet_socket.h"
#include "runtime/base/exit_codes.h"

namespace modeld::supervise {
namespace {

struct SpawnRequest {
  ExecutorKind kind;
};
// About a start (errno_value != 0: it failed) or about an end. A start comes with a pidfd.
struct SpawnReport {
  enum class What : uint32_t { kStarted, kEnded } what;
  pid_t pid;
  int status;  // waitpid's
  int errno_value;
};

int poll_until(int fd, const Clock& clock, Deadline deadline) {
  while (true) {
    const Nanoseconds left = std::max<Nanoseconds>(deadline.remaining(clock), 0);
    pollfd item{fd, POLLIN, 0};
    const int ready = poll(&item, 1, static_cast<int>(left / kMillisecond) + (left > 0 ? 1 : 0));
    if (ready > 0) return ready;
    if (ready < 0 && errno != EINTR) return ready;
    if (deadline.passed(clock)) return 0;
  }
}

// The service manager and terminals signal every process of a daemon: the daemon alone decides when
// executors end.
void leave_signals_to_the_daemon() {
  for (const int number : {SIGTERM, SIGINT, SIGPIPE}) signal(number, SIG_IGN);
}

[[noreturn]] void become_executor(const ExecutorMain& executor, ExecutorStart start, pid_t parent) {
  prctl(PR_SET_NAME, start.kind == ExecutorKind::kPrimary ? "executor" : "fallback");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(kExitDevice);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int code = kExitDevice;
  try {
    code = executor(std::move(start));
  } catch (const std::exception&) {
    code = kExitCheckFailed;
  }
  // No destructors of what was inherited: it belongs to the daemon.
  _exit(code);
}

// The spawner's whole life.
class SpawnerLoop {
 public:
  SpawnerLoop(UniqueFd socket, const ExecutorMain& executor)
      : socket_(std::move(socket)), executor_(executor) {}

  int run() {
    leave_signals_to_the_daemon();
    hurry();
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, nullptr);
    signals_ = UniqueFd(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.valid()) return kExitDevice;
    while (true) {
      pollfd items[2] = {{socket_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
      // No deadline: the daemon's end, however it comes, closes the socket and wakes this.
      if (poll(items, 2, -1) < 0 && errno != EINTR) return kExitDevice;
      if (items[1].revents != 0) reap();
      if (items[0].revents != 0 && !serve()) return kExitOk;
    }
  }

 private:
  // It sleeps until somebody ends, and then a frame waits for what it says. Not for its children;
  // where it is not allowed, ordinary has to do.
  static void hurry() {
    sched_param parameters{};
    parameters.sched_priority = 1;
    static_cast<void>(sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters));
  }

  void report(const SpawnReport& report, std::span<const int> fds = {}) {
    // A daemon that does not listen has other troubles.
    static_cast<void>(send_packet(socket_.get(), packet_bytes(report), fds));
  }

  void reap() {
    signalfd_siginfo ignored;
    while (read(signals_.get(), &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      report({SpawnReport::What::kEnded, pid, status, 0});
    }
  }

  // False when the daemon is gone.
  bool serve() {
    auto packet = receive_packet(socket_.get());
    if (!packet.ok() || packet->bytes.empty()) return false;
    const auto request = packet->as<SpawnRequest>();
    if (!request.ok() || packet->fds.size() != 2) return false;
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      socket_.reset();
      signals_.reset();
      become_executor(
          executor_, {request->kind, std::move(packet->fds[0]), std::move(packet->fds[1])}, parent);
    }
    if (pid < 0) {
      report({SpawnReport::What::kStarted, -1, 0, errno});
      return true;
    }
    // Not reaped before this loop goes on: the pid is still the executor's.
    const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    const int fd = pidfd.get();
    if (fd < 0) {
      const int failure = errno;
      ::kill(pid, SIGKILL);
      report({SpawnReport::What::kStarted, -1, 0, failure});
      return true;
    }
    report({SpawnReport::What::kStarted, pid, 0, 0}, std::span(&fd, 1));
    return true;
  }

  UniqueFd socket_;
  UniqueFd signals_;
  const ExecutorMain& executor_;
};

std::string describe(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::string_view to_string(ExecutorKind kind) {
  return kind == ExecutorKind::kPrimary ? "primary" : "fallback";
}

ExecutorProcess& ExecutorProcess::operator=(ExecutorProcess&& other) noexcept {
  if (this == &other) return *this;
  kill();
  pid_ = other.pid_;
  pidfd_ = std::move(other.pidfd_);
  return *this;
}

void ExecutorProcess::kill() {
  if (pidfd_.valid()) syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

bool ExecutorProcess::ended() const {
  if (!pidfd_.valid()) return true;
  pollfd item{pidfd_.get(), POLLIN, 0};
  return poll(&item, 1, 0) > 0;
}

bool ExecutorProcess::wait_ended(const Clock& clock, Deadline deadline) const {
  return !pidfd_.valid() || poll_until(pidfd_.get(), clock, deadline) > 0;
}

Result<std::unique_ptr<Spawner>> Spawner::start(ExecutorMain executor) {
  MODELD_ASSIGN(auto ends, packet_pair());
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return errno_error("starting the spawner", errno);
  if (pid == 0) {
    ends.first.reset();
    prctl(PR_SET_NAME, "spawner");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(kExitDevice);
    _exit(SpawnerLoop(std::move(ends.second), executor).run());
  }
  return std::unique_ptr<Spawner>(new Spawner(pid, std::move(ends.first)));
}

Spawner::~Spawner() {
  socket_.reset();
  ::kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<ExecutorProcess> Spawner::spawn(ExecutorKind kind, UniqueFd socket, int control,
                                       const Clock& clock, Deadline deadline) {
  const int fds[2] = {socket.get(), control};
  // Without a spawner there is no device: not an error of input and output, after which the service
  // manager would be told not to try again.
  if (!take_reports().ok() ||
      !send_packet(socket_.get(), packet_bytes(SpawnRequest{kind}), fds).ok()) {
    return Error(ErrorCode::kDevice, "the spawner is gone");
  }
  while (true) {
    if (poll_until(socket_.get(), clock, deadline) <= 0) {
      return Error(ErrorCode::kDeadline, "the spawner does not answer");
    }
    auto received = receive_packet(socket_.get());
    if (!received.ok() || received->bytes.empty()) {
      return Error(ErrorCode::kDevice, "the spawner is gone");
    }
    Packet packet = std::move(received).value();
    MODELD_ASSIGN(const SpawnReport report, packet.as<SpawnReport>());
    if (report.what == SpawnReport::What::kEnded) {
      ends_.push_back({report.pid, report.status});
      continue;
    }
    if (report.errno_value != 0 || packet.fds.size() != 1) {
      Error error = errno_error("starting an executor", report.errno_value);
      error.code = ErrorCode::kDevice;
      return error;
    }
    return ExecutorProcess(report.pid, std::move(packet.fds[0]));
  }
}

Status Spawner::take_reports() {
  MODELD_ASSIGN(const auto packets, receive_waiting(socket_.get()));
  for (const Packet& packet : packets) {
    const auto report = packet.as<SpawnReport>();
    if (report.ok() && report->what == SpawnReport::What::kEnded) {
      ends_.push_back({report->pid, report->status});
    }
  }
  return {};
}

std::optional<std::string> Spawner::end_of(pid_t pid) {
  if (!take_reports().ok()) return std::nullopt;
  const auto found =
      std::find_if(ends_.begin(), ends_.end(), [&](const End& end) { return end.pid == pid; });
  if (found == ends_.end()) return std::nullopt;
  return describe(found->status);
}

}  // namespace modeld::supervise
