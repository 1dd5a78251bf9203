// Whether a demonstration went as it should: pure, from what was sent and what was heard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "tools/demo/answer_log.h"

namespace modeld {

// Frame ids of one camera that count: those sent from the moment the daemon's streams were
// connected and an answer was heard until the feed stopped. Ids have no gaps.
//
// An answer, because a subscriber that waits for a topic of ZeroMQ looks for it every 0.5 s at most
// (libzmq's reconnecting, openpilot's setting): what a daemon says before that, nobody hears.
struct SentFrames {
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t count() const { return last < first ? 0 : last - first + 1; }
};

struct DaemonVerdict {
  uint64_t sent = 0;
  uint64_t answered = 0;              // of those sent
  uint64_t judged = 0;                // answers after the first kWarmUp of answering
  uint64_t valid = 0;                 // of those judged
  uint64_t unheard = 0;               // published, by the daemon's count, and not heard
  std::vector<std::string> failures;  // empty: passed
};

constexpr double kAnsweredShare = 0.95;
constexpr double kValidShare = 0.95;
constexpr Nanoseconds kWarmUp = 2 * kSecond;

DaemonVerdict judge(const SentFrames& sent, const HeardDaemon& heard);

}  // namespace modeld
