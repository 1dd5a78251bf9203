#include "daemon/service/scheduling.h"

#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

namespace modeld {
namespace {

constexpr uint32_t kMostThreads = 4;

}  // namespace

Status run_in_real_time(uint32_t priority) {
  sched_param parameters{};
  parameters.sched_priority = static_cast<int>(priority);
  std::error_code failure;
  for (std::filesystem::directory_iterator it("/proc/self/task", failure), end;
       !failure && it != end; it.increment(failure)) {
    const auto thread = static_cast<pid_t>(std::strtol(it->path().filename().c_str(), nullptr, 10));
    if (sched_setscheduler(thread, SCHED_FIFO, &parameters) == 0) continue;
    if (errno == ESRCH) continue;  // ended meanwhile
    return errno_error("real-time priority " + std::to_string(priority), errno);
  }
  if (failure) return errno_error("listing the threads", failure.value());
  return {};
}

void ask_for_real_time(uint32_t priority) {
  if (priority == 0) return;
  const Status raised = run_in_real_time(priority);
  if (raised.ok()) {
    spdlog::info("real-time priority {}", priority);
  } else {
    spdlog::warn("{}: going on without", to_string(raised.error()));
  }
}

void ask_for_locked_memory() {
  // ONFAULT: the untouched part of every thread's stack need not become real.
  if (mlockall(MCL_CURRENT | MCL_ONFAULT) == 0) {
    spdlog::info("memory locked");
  } else {
    spdlog::warn("{}: going on without", to_string(errno_error("locking memory", errno)));
  }
}

uint32_t share_of_processors() {
  // Counts the processors of the affinity mask, not those of the machine.
  const uint32_t processors = std::thread::hardware_concurrency();
  return std::clamp(processors / 2, 1u, kMostThreads);
}

}  // namespace modeld
