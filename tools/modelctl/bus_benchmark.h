// How fast messages travel over a transport, between two threads with a transport each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "ipc/transport/transport.h"
#include "tools/modelctl/latency_summary.h"

namespace modeld::modelctl {

struct BusBenchmarkOptions {
  size_t message_bytes = 0;     // at least 16
  uint32_t paced_messages = 0;  // for latency, at `rate_hz`
  double rate_hz = 0;
  uint32_t burst_messages = 0;  // for throughput, `window` under way at most
  uint32_t window = 64;
};

struct BusBenchmark {
  LatencySummary send;        // time the publisher spends per paced message
  LatencySummary arrival;     // from before the send to the copy in the subscriber's hands
  uint64_t lost = 0;          // paced messages that did not arrive
  double messages_per_s = 0;  // that arrived, of a burst
  double megabytes_per_s = 0;
};

// `make` gives each end its transport. kDeadline if messages stop coming.
using MakeTransport = std::function<Result<std::unique_ptr<ipc::Transport>>()>;
Result<BusBenchmark> benchmark_bus(const Clock& clock, const MakeTransport& make,
                                   const BusBenchmarkOptions& options);

}  // namespace modeld::modelctl
