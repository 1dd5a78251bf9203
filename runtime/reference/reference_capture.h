// A program as prepared kernels and their memory, replayed on a thread of its own.
#pragma once

#include <memory>

#include "runtime/device/capture.h"
#include "runtime/program/weights.h"

namespace modeld::reference {

// `device` is the owner of the buffers bind() accepts. Errors as Device::record.
Result<std::unique_ptr<Capture>> record_capture(const void* device, const Program& program,
                                                WeightSource& weights,
                                                const CaptureOptions& options);

}  // namespace modeld::reference
