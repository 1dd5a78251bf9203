// An executor: the process that owns a device, its driver and whatever they hang in.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/supervise/spawner.h"
#include "runtime/artifact/model.h"
#include "runtime/base/result.h"
#include "runtime/device/device.h"

namespace modeld::supervise {

// What an executor works with, made inside it.
struct ExecutorWork {
  Model model;
  std::unique_ptr<Device> device;
  std::string digest;  // of the artifact; the daemon compares it with its own
};

// The seams for a sandbox and for what an executor asks of the system. Both may be empty.
struct SandboxStages {
  std::function<Status(ExecutorKind)> before_artifact;  // nothing has been opened yet
  std::function<Status(ExecutorKind)>
      when_warm;  // every kernel has run once, no new file is needed
};

struct ExecutorOptions {
  std::function<Result<ExecutorWork>(ExecutorKind)> open;
  SandboxStages sandbox;
};

// Serves commands until the daemon is gone. For Spawner::start.
int run_executor(ExecutorStart start, const ExecutorOptions& options);

}  // namespace modeld::supervise
