// A program started by us, which never outlives us.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// How a program ended.
struct ProcessEnd {
  bool by_signal = false;
  int number = 0;            // exit code, or the signal
  std::string text() const;  // "exit code 0", "signal 9"
};

// Not thread-safe. The destructor kills and reaps a child that still runs.
class ChildProcess {
 public:
  // Runs `program` with `arguments`; what it prints goes to `log`. The kernel kills it when the
  // thread that started it ends.
  static Result<ChildProcess> start(const std::filesystem::path& program,
                                    const std::vector<std::string>& arguments,
                                    const std::filesystem::path& log);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  // The end, if it has ended. Never blocks.
  std::optional<ProcessEnd> poll();

  // SIGTERM, and SIGKILL once `grace` has passed. How long the end took is added to `took`.
  ProcessEnd terminate(const Clock& clock, Nanoseconds grace, Nanoseconds& took);

  const std::string& name() const { return name_; }
  pid_t pid() const { return pid_; }

 private:
  ChildProcess(pid_t pid, std::string name) : pid_(pid), name_(std::move(name)) {}

  pid_t pid_ = -1;
  std::string name_;
  std::optional<ProcessEnd> end_;
};

}  // namespace modeld
