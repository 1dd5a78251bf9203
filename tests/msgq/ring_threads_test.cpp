// One writer and readers in threads on the same memory: nothing torn, nothing out of order, and (in
// a build with the thread sanitizer) no race.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "ipc/msgq/ring_reader.h"
#include "ipc/msgq/ring_writer.h"
#include "runtime/base/clock.h"
#include "tests/msgq/ring_memory.h"

namespace modeld::ipc {
namespace {

using test::check_numbered;
using test::numbered_message;
using test::RingMemory;

struct Harvest {
  uint64_t messages = 0;
  uint64_t last = 0;
  RingReaderCounts counts;
};

// Reads until message `end` has been seen. A slow reader gets lapped again and again.
Harvest read_until(RingView view, uint64_t uid, bool conflate, int dawdle, uint64_t end,
                   const std::atomic<bool>& stop) {
  RingReader reader(view, uid, conflate, {});
  reader.enter();
  Harvest harvest;
  while (harvest.last != end && !stop) {
    const auto message = reader.receive();
    if (!message) {
      std::this_thread::yield();
      continue;
    }
    const uint64_t number = check_numbered(*message);
    EXPECT_GT(number, harvest.last);
    harvest.last = number;
    ++harvest.messages;
    for (int i = 0; i < dawdle; ++i) asm volatile("");
  }
  harvest.counts = reader.counts();
  return harvest;
}

TEST(RingThreads, NothingTornAndNothingOutOfOrder) {
  RingMemory memory(4096);
  RingWriter writer(memory.view(), 1);
  writer.take_over();
  constexpr uint64_t kMessages = 40'000;
  std::atomic<bool> stop{false};
  std::vector<Harvest> harvests(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < harvests.size(); ++i) {
    threads.emplace_back([&, i] {
      harvests[i] =
          read_until(memory.view(), 10 + i, i % 2 == 1, i < 2 ? 0 : 20'000, kMessages, stop);
    });
  }
  while (memory.view().readers() < harvests.size()) std::this_thread::yield();
  for (uint64_t i = 1; i < kMessages; ++i) {
    EXPECT_TRUE(writer.send(numbered_message(i, 16 + i * 8 % 1300)).ok());
    if (i % 16 == 0) std::this_thread::yield();
  }
  // The last one until everybody has it: who was just being lapped misses it.
  const Clock& clock = Clock::real();
  const Deadline deadline = Deadline::after(clock, 60 * kSecond);
  std::thread last([&] {
    while (!stop && !deadline.passed(clock)) {
      EXPECT_TRUE(writer.send(numbered_message(kMessages, 64)).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (auto& thread : threads) thread.join();
  stop = true;
  last.join();
  for (const Harvest& each : harvests) {
    EXPECT_EQ(each.last, kMessages);
    EXPECT_GT(each.messages, 1u);
    EXPECT_EQ(each.counts.rejected, 0u);
  }
}

// Readers that come and go, and writers that replace each other, while messages flow.
TEST(RingThreads, ComingAndGoingWhileMessagesFlow) {
  RingMemory memory(4096);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> received{0};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t life = 0; !stop; ++life) {
        RingReader reader(memory.view(), 1000 * (i + 1) + life, false, {});
        reader.enter();
        for (int k = 0; k < 50 && !stop; ++k) {
          if (const auto message = reader.receive()) {
            check_numbered(*message);
            ++received;
          } else {
            std::this_thread::yield();
          }
        }
        if (life % 2 == 0) reader.leave();  // the others are gone without a word
      }
    });
  }
  uint64_t number = 0;
  for (uint64_t life = 0; life < 50; ++life) {
    RingWriter writer(memory.view(), 1 + life);
    writer.take_over();
    for (int k = 0; k < 200; ++k) {
      ++number;
      EXPECT_TRUE(writer.send(numbered_message(number, 16 + number * 8 % 900)).ok());
      if (k % 8 == 0) std::this_thread::yield();
    }
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_GT(received, 0u);
}

}  // namespace
}  // namespace modeld::ipc
