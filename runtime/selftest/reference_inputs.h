// The inputs of an artifact's reference vectors: the one definition that the compiler, which makes
// the expected outputs, and the self-test, which compares with them, share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/device/capture.h"
#include "warp/nv12_layout.h"

namespace modeld {

// Frames of a reference vector have openpilot's layout of the camera's first size.
Result<Nv12Layout> reference_layout(const CameraContract& camera);

// A recording for reference vectors: every frame input uploaded in its reference_layout().
Result<CaptureOptions> reference_capture_options(const Contract& contract);

// Row-major f32[3,3], output pixel -> camera pixel: the picture and an eighth of its size around
// it, slightly tilted, so that scaling, border and perspective division are all exercised:
//   camera = (-w/8 + 1.25 w/W x, -h/8 + 1.25 h/H y) / (1 + x / (8 W))
// for a w x h picture and a W x H output.
std::array<float, 9> reference_transform(const CameraContract& camera);

// Fills input `index` (in the contract's order) of frame `step`. Frames and vectors are
// fill_seeded() bytes of stream `index`; transforms are reference_transform() of the camera they
// belong to (the identity where there is none), whatever seed and step.
void fill_reference_input(const Contract& contract, size_t index, uint64_t seed, uint32_t step,
                          std::span<std::byte> out);

using OutputBytes = std::vector<std::vector<std::byte>>;  // one per output

// The reference vector `seed`: resets the state, replays `steps` frames, commits each, and answers
// the last frame's outputs. `capture` was recorded with reference_capture_options(); each replay
// has `replay_deadline`. kCheckFailed if a replay reports an index out of range or a division by
// zero.
Result<OutputBytes> replay_reference(Capture& capture, const Contract& contract, uint64_t seed,
                                     uint32_t steps, Nanoseconds replay_deadline);

}  // namespace modeld
