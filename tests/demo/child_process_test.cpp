#include "tools/demo/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

class ChildProcessTest : public testing::Test {
 protected:
  Result<ChildProcess> shell(const std::string& script) {
    return ChildProcess::start("/bin/sh", {"-c", script}, folder_ / "log");
  }
  test::TempDir folder_;
  const Clock& clock_ = Clock::real();
};

std::optional<ProcessEnd> wait_for_end(ChildProcess& child) {
  const Deadline deadline = Deadline::after(Clock::real(), 20 * kSecond);
  while (!child.poll() && !deadline.passed(Clock::real())) usleep(2000);
  return child.poll();
}

TEST_F(ChildProcessTest, KeepsOutputAndExitCode) {
  auto child = shell("echo out; echo err >&2; exit 7");
  ASSERT_TRUE(child.ok()) << to_string(child.error());
  const auto end = wait_for_end(*child);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->text(), "exit code 7");
  EXPECT_EQ(*read_text_file(folder_ / "log", 100), "out\nerr\n");
}

TEST_F(ChildProcessTest, TermEndsAWellBehavedOne) {
  auto child = shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(child.ok());
  while (read_text_file(folder_ / "log", 100)->empty()) usleep(2000);
  Nanoseconds took = 0;
  EXPECT_EQ(child->terminate(clock_, 20 * kSecond, took).text(), "exit code 0");
  EXPECT_LT(took, 20 * kSecond);
}

TEST_F(ChildProcessTest, KillEndsTheOther) {
  auto child = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(child.ok());
  while (read_text_file(folder_ / "log", 100)->empty()) usleep(2000);
  Nanoseconds took = 0;
  const ProcessEnd end = child->terminate(clock_, 50 * kMillisecond, took);
  EXPECT_TRUE(end.by_signal);
  EXPECT_EQ(end.number, SIGKILL);
}

TEST_F(ChildProcessTest, DestructorLeavesNobodyBehind) {
  {
    auto child = shell("echo $$; exec sleep 1000");
    ASSERT_TRUE(child.ok());
    while (read_text_file(folder_ / "log", 100)->empty()) usleep(2000);
  }
  const pid_t pid = std::stoi(*read_text_file(folder_ / "log", 100));
  EXPECT_NE(kill(pid, 0), 0);  // reaped, so nothing answers to that number
}

TEST_F(ChildProcessTest, ProgramThatIsNotThere) {
  auto child = ChildProcess::start("/nonexistent/program", {}, folder_ / "log");
  ASSERT_TRUE(child.ok());
  const auto end = wait_for_end(*child);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->text(), "exit code 127");
}

}  // namespace
}  // namespace modeld
