#include "daemon/service/stop_signal.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "runtime/base/exit_codes.h"

namespace modeld {
namespace {

// SIGUSR2 is only for our own thread: it ends the wait when the process ends without a signal.
constexpr int kWakeSignal = SIGUSR2;

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, kWakeSignal);
  return set;
}

}  // namespace

Result<std::unique_ptr<StopSignal>> StopSignal::install(Nanoseconds grace) {
  const sigset_t set = watched_signals();
  if (const int failure = pthread_sigmask(SIG_BLOCK, &set, nullptr); failure != 0) {
    return errno_error("blocking signals", failure);
  }
  // A peer that goes away must be an error of the write, not the end of the process.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  if (sigaction(SIGPIPE, &ignore, nullptr) != 0) return errno_error("ignoring SIGPIPE", errno);
  std::unique_ptr<StopSignal> stop(new StopSignal(grace));
  try {
    stop->thread_ = std::thread([raw = stop.get()] { raw->watch(); });
  } catch (const std::system_error& failure) {
    return errno_error("starting the signal thread", failure.code().value());
  }
  return stop;
}

StopSignal::~StopSignal() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  pthread_kill(thread_.native_handle(), kWakeSignal);
  thread_.join();
}

int StopSignal::exit_code() const {
  return signal_.load() == SIGINT ? kExitInterrupted : kExitOk;
}

void StopSignal::watch() {
  const sigset_t set = watched_signals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0 || (signal != SIGTERM && signal != SIGINT)) {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
  }
  signal_ = signal;
  std::unique_lock lock(mutex_);
  const bool orderly =
      ended_.wait_for(lock, std::chrono::nanoseconds(grace_), [this] { return ending_; });
  // Something does not return. Everything this process holds (sockets, memory) goes with it.
  if (!orderly) _exit(exit_code());
}

}  // namespace modeld
