// The whole main job on one machine: made-up networks, real daemons, moving pictures.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/demo/answer_log.h"
#include "tools/demo/demo_verdict.h"

namespace modeld {

struct DemoOptions {
  double seconds = 15;         // of frames that count
  double start_seconds = 180;  // for both daemons to prove themselves and connect
  std::string backend = "cpu";
  uint32_t threads = 0;  // per daemon; 0: the daemon's choice
  // Of the daemons (the road's one above the cabin's) and above them the cameras (SCHED_FIFO), as
  // on a car's computer; 0: none. Where it is not allowed the demonstration runs without.
  uint32_t realtime_priority = 10;
  bool isolated = false;  // device work in executors, with a fallback
  std::optional<std::filesystem::path> pictures;
  bool keep = false;  // the temporary folder
};

struct DemoResult {
  DaemonVerdict driving;
  DaemonVerdict monitoring;
  HeardDaemon driving_heard;
  HeardDaemon monitoring_heard;
  std::vector<std::byte> last_model;  // framed modelV2
  std::string pictures;
  std::string folder;          // if kept
  double driving_stop_ms = 0;  // SIGTERM to the end
  double monitoring_stop_ms = 0;
};

// Everything it makes lies in one temporary folder, everything it starts is ended and reaped,
// whatever happens. `stop` is asked at least every 100 ms while frames run (kInterrupted), `tell`
// is called with what is being done. A daemon that ends by itself is an error that quotes the end
// of its log; a demonstration that ran but fell short is a result with failures.
Result<DemoResult> run_demo(const DemoOptions& options, const Clock& clock,
                            const std::function<bool()>& stop,
                            const std::function<void(std::string_view)>& tell);

}  // namespace modeld
