// Waking a sleeping reader: SIGUSR2 to the thread its uid names (facts 2.2).
#pragma once

#include <signal.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ipc/msgq/ring_view.h"
#include "ipc/msgq/ring_writer.h"
#include "runtime/base/clock.h"

namespace modeld::ipc {

// A random number, and the calling thread's id in the lower half.
uint64_t make_ring_uid();
uint32_t thread_of(uint64_t uid);
uint32_t own_thread();

bool thread_exists(uint32_t thread);
bool is_own_thread(uint32_t thread);  // of this process

// Installs a handler for the signal if the process has none; once per process. Without one the
// signal would end it.
void install_wake_handler();

enum class WakeResult : uint8_t {
  kSent,
  kGone,        // no such thread
  kNotAllowed,  // another user's
  kDeaf,        // it neither catches nor blocks the signal: it would be killed by it
};
WakeResult wake_thread(uint32_t thread);
// Looks the thread up first (/proc), so it is for the first time only.
WakeResult check_and_wake_thread(uint32_t thread);

// Wakes the readers of one ring, and remembers whom it need not try again. Used by one thread.
class ReaderWaker {
 public:
  ReaderWaker(const Clock& clock, std::string topic) : clock_(clock), topic_(std::move(topic)) {}
  // Looks a reader up when it is new, and logs then if it cannot be woken, and why. Otherwise one
  // system call per reader.
  void wake(const RingWriter::Readers& readers);

 private:
  struct Known {
    uint64_t uid = 0;
    WakeResult last = WakeResult::kSent;
    Nanoseconds tried = 0;  // monotonic
  };
  void meet(uint64_t uid);
  void wake_again(Known& reader);

  const Clock& clock_;
  const std::string topic_;
  std::array<Known, kRingReaders> known_;
  size_t next_ = 0;
};

// While it lives the signal is held back, so that one that comes between a look at the rings and
// the sleep ends the sleep.
class WakeableSleep {
 public:
  WakeableSleep();
  ~WakeableSleep();
  WakeableSleep(const WakeableSleep&) = delete;
  WakeableSleep& operator=(const WakeableSleep&) = delete;

  enum class Ended : uint8_t { kWoken, kTimeout, kInterrupted };
  Ended sleep(Nanoseconds duration);

 private:
  sigset_t before_;
  sigset_t open_;  // as before, but for the signal
};

}  // namespace modeld::ipc
