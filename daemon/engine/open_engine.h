// From a configuration to an engine that has proven itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "config/daemon_config.h"
#include "daemon/engine/engine.h"
#include "daemon/health/daemon_health.h"
#include "daemon/supervise/executor.h"
#include "daemon/supervise/spawner.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

struct OpenedEngine {
  std::unique_ptr<Engine> engine;
  ArtifactFacts artifact;
  DeviceFacts device;
  std::optional<Error> primary_failure;  // why the fallback is the device from the start
  // Of the fallback, if there is one; facts of it take the place of those above when it takes over.
  std::optional<ArtifactFacts> fallback_artifact;
  std::optional<DeviceFacts> fallback_device;
  std::function<Nanoseconds()> fallback_processor_time;
};

// What opening needs besides the configuration.
struct EngineSurroundings {
  supervise::Spawner* spawner = nullptr;  // outlives the engine; null where nothing is isolated
  // Called, by the caller's thread, whenever loading goes on. May be empty.
  std::function<void()> on_progress;
};

// Verifies the artifact (trust, role, device class) before the device is opened: a refusal costs no
// device work. Errors: kRefused for the artifact, kInvalidArgument for keys and backend names, the
// backend's own for the device.
// With process isolation the device is an executor's. A fallback whose own artifact is refused, or
// does not offer what the device's offers, is an error like the artifact's own.
Result<OpenedEngine> open_engine(const DaemonConfig& config, ModelRole role,
                                 const EngineSurroundings& around = {});

// A new executor in the place of one that failed, for the artifact `digest` (hex) that is in use;
// the engine's captures and states start anew and are to be proven. kDeviceLost if the file now
// holds another artifact.
Status restart_executor(Engine& engine, const DaemonConfig& config, const std::string& digest,
                        const EngineSurroundings& around);

// What an executor of this daemon opens, in the executor.
Result<supervise::ExecutorWork> open_executor_work(const DaemonConfig& config, ModelRole role,
                                                   supervise::ExecutorKind kind);

// The golden self-test on the capture that frames of the expected layout will use, which is then
// recorded and warm, and then on the fallback's. A fallback that fails is given up; that is no
// error. Fills `facts` and the engine's readiness whether it passes or not. `stop` is asked between
// runs. kCheckFailed names the slice.
Status prove_engine(Engine& engine, const DaemonConfig& config, const Clock& clock,
                    const std::function<bool()>& stop, SelfTestFacts& facts);

}  // namespace modeld
