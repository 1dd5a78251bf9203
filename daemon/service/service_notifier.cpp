#include "daemon/service/service_notifier.h"

#include <systemd/sd-daemon.h>

namespace modeld {
namespace {

// Whoever ends what hangs comes first, and says why.
constexpr Nanoseconds kMargin = 5 * kSecond;

std::string microseconds(Nanoseconds time) {
  return std::to_string(time / 1000);
}

}  // namespace

ServiceNotifier::ServiceNotifier(const Clock& clock, bool environment_watchdog) : clock_(clock) {
  uint64_t microseconds = 0;
  if (environment_watchdog && sd_watchdog_enabled(0, &microseconds) > 0) {
    interval_ = static_cast<Nanoseconds>(microseconds) * 1000;
  }
}

void ServiceNotifier::ready() {
  ready_ = true;
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
  if (patient_) {
    patient_ = false;
    last_ping_ = now;
    sd_notify(0, ("WATCHDOG_USEC=" + microseconds(interval_) + "\nWATCHDOG=1").c_str());
    return;
  }
  if (last_ping_ != 0 && now - last_ping_ < interval_ / 4) return;
  last_ping_ = now;
  sd_notify(0, "WATCHDOG=1");
}

void ServiceNotifier::loading(Nanoseconds at_most) {
  const Nanoseconds now = clock_.monotonic();
  const bool told = ready_ ? patient_ : last_extension_ != 0;
  if (told && now - last_extension_ < kSecond) return;
  last_extension_ = now;
  const std::string time = microseconds(at_most + kMargin);
  if (!ready_) {
    sd_notify(0, ("EXTEND_TIMEOUT_USEC=" + time).c_str());
  } else if (interval_ != 0) {
    patient_ = true;
    sd_notify(0, ("WATCHDOG_USEC=" + time + "\nWATCHDOG=1").c_str());
  }
}

void ServiceNotifier::stalled() {
  sd_notify(0, "WATCHDOG=trigger");
}

void ServiceNotifier::stopping() {
  sd_notify(0, "STOPPING=1");
}

}  // namespace modeld
