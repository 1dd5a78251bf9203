// One thread of another process, stopped where it is: what a call that never returns looks like to
// the others.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

namespace modeld {

// Processor time of each thread of a process so far, ns.
inline std::map<pid_t, uint64_t> thread_times(pid_t process) {
  std::map<pid_t, uint64_t> times;
  std::error_code gone;
  const std::filesystem::path threads = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator it(threads, gone), end; !gone && it != end;
       it.increment(gone)) {
    std::ifstream file(it->path() / "schedstat");
    uint64_t used = 0;
    if (file >> used) times[static_cast<pid_t>(std::stoi(it->path().filename()))] = used;
  }
  return times;
}

// The one that computed most since `before`.
inline pid_t busiest_thread(pid_t process, const std::map<pid_t, uint64_t>& before) {
  pid_t busiest = -1;
  uint64_t most = 0;
  for (const auto& [thread, used] : thread_times(process)) {
    const auto known = before.find(thread);
    const uint64_t since = used - (known == before.end() ? 0 : known->second);
    if (since <= most) continue;
    most = since;
    busiest = thread;
  }
  return busiest;
}

// Used by the thread that made it. The stopped thread goes on when this ends.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t thread) : thread_(thread) {
    if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0 ||
        ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) {
      error_ = errno;
      return;
    }
    int status = 0;
    if (waitpid(thread_, &status, __WALL) != thread_ || !WIFSTOPPED(status)) error_ = ECHILD;
  }
  ~StoppedThread() {
    if (error_ == 0 && !ended_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
  }
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  int error() const { return error_; }  // 0: it is stopped

  // The end of its process waits for whoever stopped one of its threads to have noticed.
  void notice_end() {
    int status = 0;
    if (!ended_ && waitpid(thread_, &status, __WALL | WNOHANG) == thread_) {
      ended_ = WIFEXITED(status) || WIFSIGNALED(status);
    }
  }

 private:
  const pid_t thread_;
  int error_ = 0;
  bool ended_ = false;
};

}  // namespace modeld
