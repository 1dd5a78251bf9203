// What the two ways in for pixels cost: the daemons' own code for a frame, on camera buffers in
// shared memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/daemon_config.h"
#include "runtime/artifact/model.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/device/device.h"

namespace modeld::modelctl {

struct InputBenchOptions {
  FrameInput input = FrameInput::kUpload;
  FrameSize camera;  // of every frame input; {0, 0}: the first size of the artifact's
  uint32_t threads = 0;
  uint32_t warmup = 10;
  uint32_t runs = 100;
};

struct InputCost {
  FrameInput asked = FrameInput::kUpload;
  // What the device made possible: pixels that cannot be borrowed are copied.
  FrameInput used = FrameInput::kUpload;
  FrameSize camera;
  uint64_t frame_bytes = 0;         // of all buffers of a frame set, padding included
  uint64_t moved_bytes = 0;         // copied by the host per frame set
  std::vector<Nanoseconds> copies;  // check, copy or bind, check again
  std::vector<Nanoseconds> totals;  // from the frame's arrival to outputs and commit
};

// kInvalidArgument for a model without frames, or that does not take cameras of this size.
Result<InputCost> measure_input(const Model& model, std::unique_ptr<Device> device,
                                const InputBenchOptions& options);

}  // namespace modeld::modelctl
