#include "runtime/base/thread_time.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace modeld {
namespace {

class FakeThreadTime final : public ThreadTime {
 public:
  Nanoseconds used() const override { return used_; }
  Nanoseconds used_ = 0;
};

TEST(CpuWaitMeter, WhatIsNeitherComputedNorSleptIsWaited) {
  ManualClock clock;
  FakeThreadTime time;
  CpuWaitMeter meter(clock, time);
  clock.advance(10 * kMillisecond);
  time.used_ += 4 * kMillisecond;
  meter.slept(5 * kMillisecond);
  EXPECT_EQ(meter.waited(), kMillisecond);
  meter.slept(5 * kMillisecond);  // coarse clocks may overlap
  EXPECT_EQ(meter.waited(), 0);
  meter.begin();
  clock.advance(kMillisecond);
  EXPECT_EQ(meter.waited(), kMillisecond);
}

// Field fault 11: several threads want one processor.
TEST(CpuWaitMeter, SeesThatOthersHadTheProcessor) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_SET(cpu, &one);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> stop{false};
  std::vector<std::thread> hogs;  // inherit the one processor
  for (int i = 0; i < 3; ++i) {
    hogs.emplace_back([&] {
      while (!stop) {
      }
    });
  }
  CpuWaitMeter meter;
  const Nanoseconds begin = ThreadTime::real().used();
  // Until this thread has computed for long enough to be made to share, whatever time that takes.
  while (ThreadTime::real().used() - begin < 60 * kMillisecond) {
  }
  const Nanoseconds waited = meter.waited();
  stop = true;
  for (std::thread& hog : hogs) hog.join();
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_GT(waited, 30 * kMillisecond);
}

}  // namespace
}  // namespace modeld
