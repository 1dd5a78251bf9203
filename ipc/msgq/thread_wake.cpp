#include "ipc/msgq/thread_wake.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>
#include <string>

namespace modeld::ipc {
namespace {

constexpr int kWakeSignal = SIGUSR2;
// A deaf thread may install its handler later.
constexpr Nanoseconds kRetry = kSecond;

thread_local volatile sig_atomic_t woken = 0;

void note_wake(int) {
  woken = 1;
}

std::string status_path(uint32_t thread) {
  return "/proc/" + std::to_string(thread) + "/status";
}

bool can_take_the_signal(uint32_t thread) {
  std::ifstream status(status_path(thread));
  if (!status.is_open()) return true;  // hidden from us; then so is the right to signal it
  for (std::string line; std::getline(status, line);) {
    const bool mask = line.rfind("SigCgt:", 0) == 0 || line.rfind("SigBlk:", 0) == 0;
    if (!mask) continue;
    const uint64_t bits = std::strtoull(line.c_str() + 7, nullptr, 16);
    if ((bits >> (kWakeSignal - 1) & 1) != 0) return true;
  }
  return false;
}

}  // namespace

uint32_t own_thread() {
  return static_cast<uint32_t>(::syscall(SYS_gettid));
}

uint64_t make_ring_uid() {
  std::random_device random;
  return uint64_t{random()} << 32 | own_thread();
}

uint32_t thread_of(uint64_t uid) {
  return static_cast<uint32_t>(uid);
}

bool thread_exists(uint32_t thread) {
  return ::syscall(SYS_tkill, thread, 0) == 0 || errno != ESRCH;
}

bool is_own_thread(uint32_t thread) {
  return ::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0;
}

void install_wake_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction now {};
    if (::sigaction(kWakeSignal, nullptr, &now) != 0) return;
    const bool taken = (now.sa_flags & SA_SIGINFO) != 0 ||
                       (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    if (taken) return;
    struct sigaction ours {};
    ours.sa_handler = note_wake;
    ours.sa_flags = SA_RESTART;
    ::sigaction(kWakeSignal, &ours, nullptr);
  });
}

WakeResult wake_thread(uint32_t thread) {
  if (thread == 0) return WakeResult::kGone;
  if (::syscall(SYS_tkill, thread, kWakeSignal) == 0) return WakeResult::kSent;
  return errno == EPERM ? WakeResult::kNotAllowed : WakeResult::kGone;
}

WakeResult check_and_wake_thread(uint32_t thread) {
  if (thread == 0 || !thread_exists(thread)) return WakeResult::kGone;
  return can_take_the_signal(thread) ? wake_thread(thread) : WakeResult::kDeaf;
}

void ReaderWaker::meet(uint64_t uid) {
  const uint32_t thread = thread_of(uid);
  Known& reader = known_[next_];
  next_ = (next_ + 1) % known_.size();
  reader = {uid, check_and_wake_thread(thread), clock_.monotonic()};
  if (reader.last == WakeResult::kNotAllowed) {
    spdlog::warn(
        "topic={} reader thread {} belongs to another user and cannot be signalled: it gets "
        "messages later, when it looks by itself",
        topic_, thread);
  } else if (reader.last == WakeResult::kDeaf) {
    spdlog::warn("topic={} reader thread {} does not take SIGUSR2 and is not signalled", topic_,
                 thread);
  }
}

void ReaderWaker::wake_again(Known& reader) {
  if (reader.last == WakeResult::kSent) {
    reader.last = wake_thread(thread_of(reader.uid));
  } else if (reader.last == WakeResult::kDeaf && clock_.monotonic() - reader.tried >= kRetry) {
    reader.last = check_and_wake_thread(thread_of(reader.uid));
    reader.tried = clock_.monotonic();
  }
}

void ReaderWaker::wake(const RingWriter::Readers& readers) {
  for (size_t i = 0; i < readers.count; ++i) {
    const uint64_t uid = readers.uids[i];
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const Known& each) { return each.uid == uid; });
    if (found == known_.end()) {
      meet(uid);
    } else {
      wake_again(*found);
    }
  }
}

WakeableSleep::WakeableSleep() {
  sigset_t block;
  sigemptyset(&block);
  sigaddset(&block, kWakeSignal);
  pthread_sigmask(SIG_BLOCK, &block, &before_);
  open_ = before_;
  sigdelset(&open_, kWakeSignal);
  woken = 0;
}

WakeableSleep::~WakeableSleep() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

WakeableSleep::Ended WakeableSleep::sleep(Nanoseconds duration) {
  const timespec time{duration / kSecond, duration % kSecond};
  const int result = ::ppoll(nullptr, 0, &time, &open_);
  if (woken != 0) {
    woken = 0;
    return Ended::kWoken;
  }
  return result < 0 ? Ended::kInterrupted : Ended::kTimeout;
}

}  // namespace modeld::ipc
