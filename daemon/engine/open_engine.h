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
};

// Verifies the artifact (trust, role, device class) before the device is opened: a refusal costs no
// device work. Errors: kRefused for the artifact, kInvalidArgument for keys and backend names, the
// backend's own for the device.
// With process isolation the device is an executor's, started by `spawner`, which outlives the
// engine; else `spawner` may be null.
Result<OpenedEngine> open_engine(const DaemonConfig& config, ModelRole role,
                                 supervise::Spawner* spawner = nullptr);

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
