// The processor as a compute device: the embedded default. README.md beside this file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/backends.h"
#include "runtime/device/device.h"

namespace modeld {

// `options.threads` 0: two, or as many as the processor has if that is less. Never fails.
std::unique_ptr<Device> open_cpu_device(const BackendOptions& options = {});

// What runs each step of a capture that open_cpu_device()'s device recorded, in order, as
// "op: implementation"; empty for other captures. For `modelctl inspect --lowering cpu`.
std::vector<std::string> cpu_lowering(const Capture& capture);

}  // namespace modeld
