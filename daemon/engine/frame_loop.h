// What the two daemons' loops have in common for those who run them.
#pragma once

#include "daemon/engine/engine.h"
#include "daemon/health/daemon_health.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/base/thread_time.h"

namespace modeld {

// What a loop stands on; everything outlives it.
struct LoopEnvironment {
  const Clock& clock;
  ipc::Transport& transport;
  Engine& engine;
  DaemonHealth& health;
  const ThreadTime& thread_time = ThreadTime::real();
};

class FrameLoop {
 public:
  virtual ~FrameLoop() = default;

  // Waits for the next frame until `deadline` at most and answers it. An error ends the daemon:
  // kDeviceLost, or kDeadline for a device that stays silent. Whatever can be answered with an
  // invalid message or counted is not an error.
  virtual Status run_once(Deadline deadline) = 0;

  // Brings the lists of inputs and streams in the health up to date, before it is published.
  virtual void refresh_health() = 0;

  // After an error of run_once(): the engine's device was replaced, and frames are answered again.
  // What was remembered of earlier frames starts anew with it.
  virtual void resume() = 0;

  // Counts what is still in hand. Nothing is run afterwards.
  virtual void stop() = 0;
};

}  // namespace modeld
