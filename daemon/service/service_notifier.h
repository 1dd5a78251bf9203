// What systemd is told: ready, status, watchdog, more time. Without NOTIFY_SOCKET nothing happens.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/clock.h"

namespace modeld {

// Not thread-safe. Never fails: a service manager that does not listen must not stop a daemon.
class ServiceNotifier {
 public:
  // Takes the watchdog interval the unit asks for, if it does. `environment_watchdog` false: no
  // watchdog (tests).
  explicit ServiceNotifier(const Clock& clock, bool environment_watchdog = true);

  // Once, when the daemon answers for its work.
  void ready();
  // One line for `systemctl status`; sent only when it changed.
  void status(std::string_view text);
  // To be called when, and only when, a frame was answered or frames are waited for in good health:
  // never by a timer. Sent at most four times per interval.
  void progress();
  // Loading goes on, and somebody ends it if it does not go on for `at_most`: until then the
  // service manager waits, for READY or, afterwards, for the next progress(). Sent at most once a
  // second.
  void loading(Nanoseconds at_most);
  // This process hangs in something it cannot end: the service manager ends it now.
  void stalled();
  void stopping();

  Nanoseconds watchdog_interval() const { return interval_; }  // 0: none

 private:
  const Clock& clock_;
  Nanoseconds interval_ = 0;
  Nanoseconds last_ping_ = 0;
  Nanoseconds last_extension_ = 0;
  bool ready_ = false;
  bool patient_ = false;  // the manager was told another interval
  std::string status_;
};

}  // namespace modeld
