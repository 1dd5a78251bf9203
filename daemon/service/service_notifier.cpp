#include "daemon/service/service_notifier.h"

#include <systemd/sd-daemon.h>

namespace modeld {

ServiceNotifier::ServiceNotifier(const Clock& clock, bool environment_watchdog) : clock_(clock) {
  uint64_t microseconds = 0;
  if (environment_watchdog && sd_watchdog_enabled(0, &microseconds) > 0) {
    interval_ = static_cast<Nanoseconds>(microseconds) * 1000;
  }
}

void ServiceNotifier::ready() {
  sd_notify(0, "READY=1");
  last_ping_ = 0;
  progress();
}

void ServiceNotifier::status(std::string_view text) {
  if (text == status_) return;
  status_ = text;
  sd_notify(0, ("STATUS=" + status_).c_str());
}

void ServiceNotifier::progress() {
  if (interval_ == 0) return;
  const Nanoseconds now = clock_.monotonic();
  if (last_ping_ != 0 && now - last_ping_ < interval_ / 4) return;
  last_ping_ = now;
  sd_notify(0, "WATCHDOG=1");
}

void ServiceNotifier::stopping() {
  sd_notify(0, "STOPPING=1");
}

}  // namespace modeld
