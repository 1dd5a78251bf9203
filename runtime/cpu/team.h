// The threads of one capture. They sleep between frames and meet at a barrier within one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/cpu/simd.h"

namespace modeld::cpu {

// Waits in two stages: a short spin, since members of a running frame are at most a small step
// apart, then sleep. Reusable.
class Barrier {
 public:
  explicit Barrier(unsigned members) : members_(members) {}

  // How long the caller slept, ns; 0 if the others came while it spun.
  Nanoseconds arrive_and_wait();

 private:
  const unsigned members_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<uint32_t> generation_{0};
};

// Runs one function on every member, one frame at a time. The function must return; a team whose
// frame is still running when it is destroyed waits for it up to kTearDown, then leaves the
// threads to finish by themselves (they own what they need through `frame`).
class Team {
 public:
  // What member `member` does in a frame; called on the team's own threads.
  using Frame = std::function<void(unsigned member)>;

  static constexpr Nanoseconds kTearDown = 2 * kSecond;

  // `prepare` runs once on each thread before its first frame.
  Team(unsigned members, Frame frame, std::function<void()> prepare);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Starts a frame on all members. No frame may be running.
  void start();
  // True when the frame started last (if any) is complete; false if `deadline` came first.
  bool wait(Deadline deadline);

 private:
  // Shared with the threads, so that it outlives a Team that gave up waiting.
  struct Shared {
    Frame frame;
    std::function<void()> prepare;
    std::mutex mutex;
    std::condition_variable started;
    std::condition_variable finished;
    uint64_t frames_started = 0;
    unsigned running = 0;
    bool stop = false;
  };

  static void member_main(const std::shared_ptr<Shared>& shared, unsigned member);

  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace modeld::cpu
