#include "runtime/cpu/team.h"

#include <chrono>

#ifdef MODELD_CPU_X86
#include <immintrin.h>
#endif

namespace modeld::cpu {
namespace {

// Some 20 to 40 microseconds: about what putting a thread to sleep and waking it costs, so never
// more than twice the best choice, whatever the other members do (or are not given time to do).
constexpr int kSpins = 600;

void relax() {
#ifdef MODELD_CPU_X86
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Nanoseconds Barrier::arrive_and_wait() {
  if (members_ == 1) return 0;
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    return 0;
  }
  for (int spin = 0; spin < kSpins; ++spin) {
    if (generation_.load(std::memory_order_acquire) != generation) return 0;
    relax();
  }
  const Nanoseconds begin = Clock::real().monotonic();
  generation_.wait(generation, std::memory_order_acquire);
  return Clock::real().monotonic() - begin;
}

Team::Team(unsigned members, Frame frame, std::function<void()> prepare)
    : shared_(std::make_shared<Shared>()) {
  shared_->frame = std::move(frame);
  shared_->prepare = std::move(prepare);
  threads_.reserve(members);
  for (unsigned member = 0; member < members; ++member) {
    threads_.emplace_back([shared = shared_, member] { member_main(shared, member); });
  }
}

Team::~Team() {
  const bool idle = wait(Deadline::after(Clock::real(), kTearDown));
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->started.notify_all();
  for (std::thread& thread : threads_) {
    if (idle) {
      thread.join();
    } else {
      thread.detach();
    }
  }
}

void Team::start() {
  {
    const std::lock_guard lock(shared_->mutex);
    ++shared_->frames_started;
    shared_->running = static_cast<unsigned>(threads_.size());
  }
  shared_->started.notify_all();
}

bool Team::wait(Deadline deadline) {
  const auto at = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline.at));
  std::unique_lock lock(shared_->mutex);
  return shared_->finished.wait_until(lock, at, [&] { return shared_->running == 0; });
}

void Team::member_main(const std::shared_ptr<Shared>& shared, unsigned member) {
  shared->prepare();
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(shared->mutex);
      shared->started.wait(lock, [&] { return shared->stop || shared->frames_started != seen; });
      if (shared->stop) return;
      seen = shared->frames_started;
    }
    shared->frame(member);
    const std::lock_guard lock(shared->mutex);
    if (--shared->running == 0) shared->finished.notify_all();
  }
}

}  // namespace modeld::cpu
