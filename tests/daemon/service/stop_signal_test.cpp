#include "daemon/service/stop_signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "runtime/base/exit_codes.h"

namespace modeld {
namespace {

// Runs `body` in a process of its own; its exit code and how long it lived after `signal`.
struct Ended {
  int code = -1;
  Nanoseconds took = 0;
};
Ended run_and_signal(int signal, const std::function<int(StopSignal&)>& body) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto stop = StopSignal::install(200 * kMillisecond);
    if (!stop.ok()) _exit(99);
    if (write(pipe_ends[1], "r", 1) != 1) _exit(98);
    const int code = body(**stop);
    stop->reset();
    _exit(code);
  }
  char ready = 0;
  EXPECT_EQ(read(pipe_ends[0], &ready, 1), 1);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  const Nanoseconds begin = Clock::real().monotonic();
  if (signal != 0) kill(child, signal);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return {WEXITSTATUS(status), Clock::real().monotonic() - begin};
}

int wait_for_flag(StopSignal& stop) {
  for (int i = 0; i < 1000 && !stop.requested(); ++i) usleep(5000);
  return stop.requested() ? stop.exit_code() : 97;
}

TEST(StopSignal, TermIsAFlagAndAnOrderlyEndIsZero) {
  EXPECT_EQ(run_and_signal(SIGTERM, wait_for_flag).code, kExitOk);
}

TEST(StopSignal, InterruptIsToldApart) {
  EXPECT_EQ(run_and_signal(SIGINT, wait_for_flag).code, kExitInterrupted);
}

TEST(StopSignal, EndsAProcessThatDoesNotReturn) {
  const Ended ended = run_and_signal(SIGTERM, [](StopSignal&) {
    sleep(30);
    return 96;
  });
  EXPECT_EQ(ended.code, kExitOk);
  EXPECT_GE(ended.took, 200 * kMillisecond);
  EXPECT_LT(ended.took, 10 * kSecond);
}

TEST(StopSignal, GoesQuietlyWithoutASignal) {
  EXPECT_EQ(run_and_signal(0, [](StopSignal& stop) { return stop.requested() ? 95 : 7; }).code, 7);
}

}  // namespace
}  // namespace modeld
