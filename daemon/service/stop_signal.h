// SIGTERM and SIGINT, turned into a flag that ends every wait, and into an end that cannot hang.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// One per process, made before any other thread (they inherit the blocked signals). A thread of its
// own sleeps until a signal comes; then the flag is set and, if the process has not ended
// `grace` later (because device work or a driver does not return), the thread ends it with the
// exit code that an orderly end would have had.
class StopSignal {
 public:
  // The promise is 500 ms from signal to end; this leaves room for the end itself.
  static constexpr Nanoseconds kGrace = 400 * kMillisecond;

  static Result<std::unique_ptr<StopSignal>> install(Nanoseconds grace = kGrace);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const { return signal_.load() != 0; }
  // Of an end by this signal: 0 after SIGTERM, 130 after SIGINT.
  int exit_code() const;

 private:
  explicit StopSignal(Nanoseconds grace) : grace_(grace) {}
  void watch();

  const Nanoseconds grace_;
  std::atomic<int> signal_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace modeld
