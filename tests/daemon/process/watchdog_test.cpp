// What the service manager hears of a daemon that hangs before READY, and of one that hangs after.
#include <algorithm>
#include <iterator>

#include "runtime/base/exit_codes.h"
#include "tests/daemon/process/served_daemon.h"
#include "tests/daemon/process/stopped_thread.h"

namespace modeld {
namespace {

// As /proc says: R, S, T, Z, ...
char process_state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name;
  char state = 0;
  file >> number >> name >> state;
  return state;
}

class WatchedDaemon : public ServedDaemon {
 protected:
  void SetUp() override {
    ServedDaemon::SetUp();
    setenv("NOTIFY_SOCKET", (folder_ / "notify").c_str(), 1);
    setenv("WATCHDOG_USEC", "500000", 1);
    manager_.emplace(folder_ / "notify");
  }
  void TearDown() override {
    unsetenv("WATCHDOG_USEC");
    ServedDaemon::TearDown();
  }
  // A manager that does not read would hold the daemon up.
  bool watch_until(const std::function<bool()>& condition) {
    return listen_until([&] {
      static_cast<void>(manager_->received());
      return condition();
    });
  }
  static size_t count(const std::vector<std::string>& messages, const std::string& text) {
    return static_cast<size_t>(std::count(messages.begin(), messages.end(), text));
  }

  std::optional<NotifySocket> manager_;
};

// A device inside the daemon that hangs cannot be ended without it: no ping from the missed frame
// on, then a call for the service manager, then an end that waits for nobody.
TEST_F(WatchedDaemon, FieldFault21And39HungDeviceInsideTheDaemonCallsTheManagerAndEnds) {
  serve("[device]\nthreads = 1\n");
  ASSERT_TRUE(watch_until([&] { return health().valid >= 5; })) << log_text();
  const auto before = thread_times(child_->pid());
  const uint64_t some = health().valid + 20;
  ASSERT_TRUE(watch_until([&] { return health().valid >= some; })) << log_text();
  const pid_t worker = busiest_thread(child_->pid(), before);
  ASSERT_NE(worker, child_->pid()) << "the device computes on a thread of its own";
  StoppedThread hung(worker);
  if (hung.error() == EPERM) GTEST_SKIP() << "threads of children may not be stopped here";
  ASSERT_EQ(hung.error(), 0) << std::strerror(hung.error());

  bool stalled = false;
  Nanoseconds called = 0;
  std::optional<ProcessEnd> end;
  EXPECT_TRUE(watch_until([&] {
    hung.notice_end();
    stalled = stalled || (health().state == "stalled" && health().reason == "deadlineMissed");
    end = child_->poll();
    if (called == 0 && count(manager_->received(), "WATCHDOG=trigger") > 0) {
      called = real().monotonic();
    }
    return end.has_value();
  })) << log_text();
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->text(), "exit code 5") << log_text();
  EXPECT_EQ(end->number, kExitDeadline);
  EXPECT_TRUE(stalled);
  EXPECT_LT(real().monotonic() - called, kSecond) << "tearing the device down waits 2 s for it";
  EXPECT_TRUE(watch_until([&] { return health().state == "faulted"; }));
  EXPECT_NE(health().text.find("the device does not finish a frame"), std::string::npos)
      << health().text;

  const auto messages = manager_->received();
  const auto first = std::find(messages.begin(), messages.end(), "STATUS=stalled (deadlineMissed)");
  ASSERT_NE(first, messages.end());
  EXPECT_GT(std::count(messages.begin(), first, "WATCHDOG=1"), 0);
  EXPECT_EQ(std::count(first, messages.end(), "WATCHDOG=1"), 0) << "fed while it stalls";
  EXPECT_EQ(count(messages, "WATCHDOG=trigger"), 1u);
  EXPECT_EQ(messages.back(), "WATCHDOG=trigger");
  EXPECT_EQ(count(messages, "STOPPING=1"), 0u);
  // Every frame that was taken has an answer.
  EXPECT_EQ(health().received, health().published);
}

// Loading that hangs is not READY, asks for no more time, and ends naming how far it came.
TEST_F(WatchedDaemon, FieldFault39HangBeforeReadyIsNeverReady) {
  // Some of the first runs take long on a machine that does other things; a stop takes for ever.
  child_.emplace(start(MODELD_PROGRAM, config(models_->driving, true, models_->trust) +
                                           "[device]\nisolation = \"process\"\nrestarts = 0\n"
                                           "patience_ms = 0\n[deadlines]\nload_ms = 2000\n"));
  ASSERT_TRUE(wait_for_log("recording and self-test")) << log_text();
  signal_executor(SIGSTOP);
  static_cast<void>(manager_->received());
  const pid_t hung = executor();
  EXPECT_EQ(exit_code_of(*child_), kExitDeadline) << log_text();
  const auto messages = manager_->received();
  EXPECT_EQ(count(messages, "READY=1"), 0u);
  EXPECT_EQ(count(messages, "WATCHDOG=1"), 0u);
  EXPECT_EQ(std::count_if(messages.begin(), messages.end(),
                          [](const std::string& text) {
                            return text.rfind("STATUS=recording and self-test", 0) == 0;
                          }),
            1);
  EXPECT_NE(log_text().rfind("step=\"recording and self-test\""), std::string::npos);
  EXPECT_EQ(log_text().find("self-test passed"), std::string::npos) << log_text();
  // Whoever inherits it may take its time to reap it.
  EXPECT_TRUE(wait_for([&] { return kill(hung, 0) != 0 || process_state(hung) == 'Z'; }))
      << "the executor is left behind";
}

}  // namespace
}  // namespace modeld
