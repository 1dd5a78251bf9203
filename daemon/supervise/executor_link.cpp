#include "daemon/supervise/executor_link.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "daemon/supervise/packet_socket.h"

namespace modeld::supervise {
namespace {

// How often a wait looks whether the executor still lives, which no futex tells.
constexpr Nanoseconds kLookAround = 5 * kMillisecond;
constexpr Nanoseconds kSpawnTime = 2 * kSecond;
// The frame at hand waits for it, too.
constexpr Nanoseconds kReportTime = 5 * kMillisecond;

const Clock& real() {
  return Clock::real();
}

std::string_view name_of(Command command) {
  switch (command) {
    case Command::kOpen:
      return "opening artifact and device";
    case Command::kRecord:
      return "recording";
    case Command::kReplay:
      return "a replay";
    case Command::kDrop:
      return "tear-down";
    case Command::kSeal:
      return "sealing the sandbox";
    default:
      return "a command between frames";
  }
}

}  // namespace

Result<std::shared_ptr<ExecutorDevice::Link>> ExecutorDevice::Link::spawn(
    Spawner& spawner, ExecutorKind kind, const ExecutorDeadlines& deadlines,
    std::function<void()> on_progress) {
  std::shared_ptr<Link> link(new Link(spawner, kind, deadlines, std::move(on_progress)));
  MODELD_ASSIGN(link->control_, SharedMemory::create("executor", kControlBytes));
  new (link->control_.bytes().data()) ControlPage;
  MODELD_ASSIGN(auto ends, packet_pair());
  link->socket_ = std::move(ends.first);
  MODELD_ASSIGN(link->process_, spawner.spawn(kind, std::move(ends.second), link->control_.fd(),
                                              real(), Deadline::after(real(), kSpawnTime)));
  return link;
}

ExecutorDevice::Link::~Link() {
  process_.kill();
  process_.wait_ended(real(), Deadline::after(real(), deadlines_.tear_down));
}

Error ExecutorDevice::Link::ended() {
  // The spawner learns of it a moment after the pidfd does.
  const Deadline deadline = Deadline::after(real(), kReportTime);
  std::optional<std::string> end = spawner_.end_of(process_.pid());
  while (!end && !deadline.passed(real())) {
    sleep_while(page().answered, page().answered.load(), Deadline::after(real(), kMillisecond));
    end = spawner_.end_of(process_.pid());
  }
  return Error(ErrorCode::kDeviceLost, "the " + std::string(to_string(kind_)) +
                                           " executor ended by itself (" +
                                           end.value_or("how is not known yet") + ")");
}

void ExecutorDevice::Link::give_up(std::string_view why) {
  process_.kill();
  busy_ = posted_ = false;
  if (failure_) return;
  failure_ = Error(ErrorCode::kDeviceLost, "the " + std::string(to_string(kind_)) +
                                               " executor was ended: " + std::string(why));
}

Status ExecutorDevice::Link::give(Command command, const Arguments& arguments) {
  if (failure_) return *failure_;
  if (posted_) {
    posted_ = false;
    MODELD_TRY(finish(deadlines_.answer, name_of(page().command)));
  }
  if (busy_) {
    return Error(ErrorCode::kInvalidArgument, "the executor is busy")
        .expecting("an answered command", std::string(name_of(page().command)));
  }
  ControlPage& to = shared();
  to.command = command;
  to.capture = arguments.capture;
  to.argument = arguments.argument;
  to.buffer = arguments.buffer;
  busy_ = true;
  to.asked.store(++asked_, std::memory_order_release);
  wake(to.asked);
  return {};
}

Status ExecutorDevice::Link::post(Command command, const Arguments& arguments) {
  MODELD_TRY(give(command, arguments));
  posted_ = true;
  return {};
}

Status ExecutorDevice::Link::wait(Deadline deadline) {
  if (failure_) return *failure_;
  if (!busy_) return {};
  while (true) {
    const uint32_t answered = page().answered.load(std::memory_order_acquire);
    if (answered == asked_) break;
    if (process_.ended()) {
      failure_ = ended();
      busy_ = false;
      return *failure_;
    }
    const Nanoseconds now = real().monotonic();
    if (now >= deadline.at) {
      return Error(ErrorCode::kDeadline, "the executor did not finish in time")
          .in(name_of(page().command));
    }
    sleep_while(page().answered, answered, Deadline{std::min(deadline.at, now + kLookAround)});
  }
  busy_ = false;
  if (page().failed == 0) return {};
  Error error(page().error, get_text(page().message));
  if (error.code > ErrorCode::kInternal) error.code = ErrorCode::kInternal;
  if (error.code == ErrorCode::kDeviceLost) failure_ = error;
  return error;
}

Status ExecutorDevice::Link::finish(Nanoseconds within, std::string_view what) {
  Status waited = wait(Deadline::after(real(), within));
  if (!waited.ok() && waited.error().code == ErrorCode::kDeadline && busy_) {
    give_up("it hung in " + std::string(what));
  }
  return waited;
}

Status ExecutorDevice::Link::ask(Command command, const Arguments& arguments) {
  MODELD_TRY(give(command, arguments));
  return finish(deadlines_.answer, name_of(command));
}

Status ExecutorDevice::Link::ask(Command command, const Arguments& arguments,
                                 std::span<const std::byte> packet, int fd) {
  if (failure_) return *failure_;
  MODELD_TRY(send_packet(socket_.get(), packet, std::span(&fd, 1)));
  return ask(command, arguments);
}

Status ExecutorDevice::Link::load(Command command, const Arguments& arguments) {
  MODELD_TRY(give(command, arguments));
  uint32_t progress = page().progress.load();
  Deadline deadline = Deadline::after(real(), deadlines_.load);
  if (on_progress_) on_progress_();
  while (true) {
    // In steps, to see progress; the last one is the deadline itself.
    const Nanoseconds step = std::min<Nanoseconds>(deadline.remaining(real()), kSecond);
    Status waited = wait(Deadline::after(real(), step));
    if (waited.ok() || waited.error().code != ErrorCode::kDeadline || !busy_) return waited;
    const uint32_t now = page().progress.load();
    if (now != progress) {
      deadline = Deadline::after(real(), deadlines_.load);
      if (on_progress_) on_progress_();
    }
    progress = now;
    if (!deadline.passed(real())) continue;
    give_up("it hung in " + std::string(name_of(command)));
    return waited;
  }
}

Status ExecutorDevice::Link::record(const Arguments& arguments, std::span<const std::byte> packet,
                                    int fd) {
  if (failure_) return *failure_;
  MODELD_TRY(send_packet(socket_.get(), packet, std::span(&fd, 1)));
  return load(Command::kRecord, arguments);
}

void ExecutorDevice::Link::drop(uint32_t capture) {
  if (failure_) return;
  posted_ = false;
  if (busy_ && !wait(Deadline::after(real(), deadlines_.tear_down)).ok() && busy_) {
    give_up("it hung in what a capture was doing when it was no longer needed");
    return;
  }
  if (!give(Command::kDrop, {capture, 0, 0}).ok()) return;
  static_cast<void>(finish(deadlines_.tear_down, "tear-down"));
}

}  // namespace modeld::supervise
