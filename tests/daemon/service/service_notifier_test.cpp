#include "daemon/service/service_notifier.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

// Plays the service manager.
class NotifySocket {
 public:
  NotifySocket() : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    const std::string path = (dir_ / "notify").string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
  }
  std::vector<std::string> received() {
    std::vector<std::string> all;
    char text[256];
    for (ssize_t n; (n = recv(fd_.get(), text, sizeof text, 0)) > 0;) {
      all.emplace_back(text, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  test::TempDir dir_;
  UniqueFd fd_;
};

using Messages = std::vector<std::string>;

TEST(FieldFault39, WithoutNotifySocketNothingHappens) {
  unsetenv("NOTIFY_SOCKET");
  ManualClock clock;
  ServiceNotifier notifier(clock);
  EXPECT_EQ(notifier.watchdog_interval(), 0);
  notifier.ready();
  notifier.status("x");
  notifier.progress();
  notifier.stopping();
}

TEST(FieldFault39, PingsAreRateLimitedAndFollowProgress) {
  NotifySocket manager;
  setenv("WATCHDOG_USEC", "500000", 1);
  ManualClock clock;
  ServiceNotifier notifier(clock);
  EXPECT_EQ(notifier.watchdog_interval(), 500 * kMillisecond);
  notifier.ready();
  EXPECT_EQ(manager.received(), (Messages{"READY=1", "WATCHDOG=1"}));
  for (int i = 0; i < 100; ++i) {  // one second of frames every 10 ms
    clock.advance(10 * kMillisecond);
    notifier.progress();
  }
  const Messages pings = manager.received();
  EXPECT_GE(pings.size(), 7u);
  EXPECT_LE(pings.size(), 8u);
  // No progress, no ping, however much time passes.
  clock.advance(10 * kSecond);
  EXPECT_TRUE(manager.received().empty());
}

TEST(FieldFault39, StatusIsSentWhenItChanges) {
  NotifySocket manager;
  ManualClock clock;
  ServiceNotifier notifier(clock);
  notifier.status("recording");
  notifier.status("recording");
  notifier.status("ok");
  notifier.stopping();
  EXPECT_EQ(manager.received(), (Messages{"STATUS=recording", "STATUS=ok", "STOPPING=1"}));
}

// While loading goes on the manager waits as long as the daemon itself does, and a little more.
TEST(FieldFault39, LoadingAsksForMoreTimeBeforeReadyAndAfter) {
  NotifySocket manager;
  setenv("WATCHDOG_USEC", "2000000", 1);
  ManualClock clock{kSecond};
  ServiceNotifier notifier(clock);
  for (int i = 0; i < 40; ++i) {  // four seconds of progress
    notifier.loading(60 * kSecond);
    clock.advance(100 * kMillisecond);
  }
  EXPECT_EQ(manager.received(), Messages(4, "EXTEND_TIMEOUT_USEC=65000000"));
  notifier.ready();
  manager.received();
  // Loading again later: the watchdog waits, until frames are answered.
  clock.advance(10 * kMillisecond);
  notifier.loading(60 * kSecond);
  notifier.loading(60 * kSecond);
  EXPECT_EQ(manager.received(), Messages{"WATCHDOG_USEC=65000000\nWATCHDOG=1"});
  notifier.progress();
  EXPECT_EQ(manager.received(), Messages{"WATCHDOG_USEC=2000000\nWATCHDOG=1"});
  notifier.progress();
  EXPECT_TRUE(manager.received().empty());
}

TEST(FieldFault39, LoadingWithoutAWatchdogTellsNothingAfterReady) {
  NotifySocket manager;
  ManualClock clock{kSecond};
  ServiceNotifier notifier(clock);
  notifier.ready();
  manager.received();
  notifier.loading(60 * kSecond);
  EXPECT_TRUE(manager.received().empty());
}

TEST(FieldFault39, AStallTheDaemonCannotEndTriggersTheWatchdog) {
  NotifySocket manager;
  ManualClock clock;
  ServiceNotifier notifier(clock);
  notifier.stalled();
  EXPECT_EQ(manager.received(), Messages{"WATCHDOG=trigger"});
}

}  // namespace
}  // namespace modeld
