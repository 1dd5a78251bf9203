// The daemon's line to one executor: one command at a time, each with a deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "daemon/supervise/executor_device.h"
#include "daemon/supervise/executor_protocol.h"
#include "daemon/supervise/shared_memory.h"

namespace modeld::supervise {

// Not thread-safe.
class ExecutorDevice::Link {
 public:
  static Result<std::shared_ptr<Link>> spawn(Spawner& spawner, ExecutorKind kind,
                                             const ExecutorDeadlines& deadlines,
                                             std::function<void()> on_progress);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  struct Arguments {
    uint32_t capture = 0;
    uint32_t argument = 0;
    uint32_t buffer = 0;
  };
  // Gives a command and waits for its answer. On expiry the executor is killed.
  Status ask(Command command, const Arguments& arguments);
  // The same with a packet in front; loading commands may take as long as they make progress.
  Status ask(Command command, const Arguments& arguments, std::span<const std::byte> packet,
             int fd);
  Status open() { return load(Command::kOpen, {}); }
  Status record(const Arguments& arguments, std::span<const std::byte> packet, int fd);
  // Waits in vain no longer than the tear-down deadline.
  void drop(uint32_t capture);

  // Gives a command whose answer nobody needs now; the next command waits for it first and answers
  // its error.
  Status post(Command command, const Arguments& arguments);

  // A command whose answer is waited for by the caller.
  Status give(Command command, const Arguments& arguments);
  // kDeadline leaves the command running.
  Status wait(Deadline deadline);
  bool busy() const { return busy_; }

  // Kills; what follows is kDeviceLost.
  void give_up(std::string_view why);
  bool lost() const { return failure_.has_value(); }

  const ControlPage& page() const {
    return *reinterpret_cast<const ControlPage*>(control_.bytes().data());
  }
  uint32_t new_number() { return ++numbers_; }
  pid_t pid() const { return process_.pid(); }

 private:
  Link(Spawner& spawner, ExecutorKind kind, const ExecutorDeadlines& deadlines,
       std::function<void()> on_progress)
      : spawner_(spawner),
        kind_(kind),
        deadlines_(deadlines),
        on_progress_(std::move(on_progress)) {}

  ControlPage& shared() { return *reinterpret_cast<ControlPage*>(control_.bytes().data()); }
  Status load(Command command, const Arguments& arguments);
  Status finish(Nanoseconds within, std::string_view what);
  Error ended();

  Spawner& spawner_;
  const ExecutorKind kind_;
  const ExecutorDeadlines deadlines_;
  const std::function<void()> on_progress_;
  SharedMemory control_;
  UniqueFd socket_;
  ExecutorProcess process_;
  uint32_t asked_ = 0;
  uint32_t numbers_ = 0;
  bool busy_ = false;
  bool posted_ = false;           // what is busy was post()ed
  std::optional<Error> failure_;  // sticky
};

}  // namespace modeld::supervise
