// The small process that starts executors. It is forked while this process has one thread and no
// sandbox, so that an executor started later is born without either.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::supervise {

// Which of a daemon's executors.
enum class ExecutorKind : uint32_t { kPrimary, kFallback };
std::string_view to_string(ExecutorKind kind);  // "primary", "fallback"

// What an executor is given. Runs in the executor and answers its exit code.
struct ExecutorStart {
  ExecutorKind kind = ExecutorKind::kPrimary;
  UniqueFd socket;   // packets with descriptors from the daemon
  UniqueFd control;  // shared memory, see executor_protocol.h
};
using ExecutorMain = std::function<int(ExecutorStart)>;

// A running executor, seen from the daemon. Not thread-safe. The destructor kills.
class ExecutorProcess {
 public:
  ExecutorProcess() = default;
  ExecutorProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  ~ExecutorProcess() { kill(); }
  ExecutorProcess(ExecutorProcess&&) noexcept = default;
  ExecutorProcess& operator=(ExecutorProcess&& other) noexcept;

  // SIGKILL; returns at once, whatever the executor hangs in. Safe against a reused pid.
  void kill();
  bool ended() const;
  // True if it ended before the deadline.
  bool wait_ended(const Clock& clock, Deadline deadline) const;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_;
};

// Not thread-safe. The destructor ends the spawner and with it every executor; so does the end of
// this process, however it comes.
class Spawner {
 public:
  // Call while the process has one thread. `executor` is what each executor runs. The kernel ends
  // the spawner when the thread that called this ends.
  static Result<std::unique_ptr<Spawner>> start(ExecutorMain executor);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Both descriptors go to the new executor. kDeadline if the spawner does not answer, kDevice if
  // the system gives no process.
  Result<ExecutorProcess> spawn(ExecutorKind kind, UniqueFd socket, int control, const Clock& clock,
                                Deadline deadline);

  // How the executor `pid` ended ("exit code 4", "signal 9"), once the spawner has said so.
  std::optional<std::string> end_of(pid_t pid);

  pid_t pid() const { return pid_; }

 private:
  Spawner(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}
  Status take_reports();

  struct End {
    pid_t pid = -1;
    int status = 0;  // of waitpid
  };

  const pid_t pid_;
  UniqueFd socket_;
  std::vector<End> ends_;
};

}  // namespace modeld::supervise
