// A program recorded once on fixed buffers and replayed every frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/device/buffer.h"
#include "runtime/program/op.h"
#include "runtime/program/program.h"
#include "runtime/program/tensor.h"
#include "warp/nv12_layout.h"

namespace modeld {

// How the pixels of one frame input reach the device.
enum class InputMode : uint8_t {
  kUpload,  // the host writes staging(); ours after that copy
  kBind,    // the host binds an imported buffer before each replay; the camera's
};

struct FrameBinding {
  std::string input;  // name of an nv12 program input
  Nv12Layout layout;
  InputMode mode = InputMode::kUpload;
};

struct CaptureOptions {
  std::vector<FrameBinding> frames;          // one for every nv12 input of the program
  uint32_t threads = 0;                      // host threads; 0: the backend's choice
  Nanoseconds load_deadline = 60 * kSecond;  // without progress
};

struct Slot {
  std::string name;
  TensorType type;
  uint64_t bytes = 0;  // of staging (inputs: for nv12 the layout's length) or of the value
};

// Monotonic clock, ns; 0 where the device does not tell (see capabilities().timestamps).
struct PhaseTimes {
  Nanoseconds queued = 0;
  Nanoseconds submitted = 0;
  Nanoseconds started = 0;
  Nanoseconds ended = 0;
};

// What happened in one replay beside its outputs.
struct ReplayReport {
  std::array<PhaseTimes, kPhaseCount> phases{};  // by Phase; all 0 for a phase without steps
  uint32_t index_out_of_range = 0;               // run-time indices that were outside
  uint32_t integer_division_by_zero = 0;
  // Elements of next states (of float types) that are infinite or not a number: a state need not
  // be an output, and must be refused before commit() all the same.
  uint32_t states_not_finite = 0;
  // Of the time from replay() to completion, what the work's host threads spent able to run without
  // running (the longest of them); 0 where the backend does not tell.
  Nanoseconds cpu_wait = 0;
};

// One replay in flight. Owned by its Capture and reused: valid until the next replay().
class Submission {
 public:
  virtual ~Submission() = default;
  // Returns when the work is complete (not merely submitted), or kDeadline. A failure is sticky
  // and carries its cause: every later wait answers it again. After kDeadline the work may still
  // be running; waiting again is allowed, replaying is not.
  virtual Status wait(Deadline deadline) = 0;
  // Valid after a wait that succeeded.
  virtual const ReplayReport& report() const = 0;
};

// Not thread-safe: one owner drives it. Steady state (staging, bind, replay, wait, output, commit)
// allocates nothing on the host. Destruction waits for work in flight, with a bounded deadline.
class Capture {
 public:
  virtual ~Capture() = default;

  // In the program's order. States are not among the inputs.
  virtual std::span<const Slot> inputs() const = 0;
  virtual std::span<const Slot> outputs() const = 0;
  virtual std::span<const Slot> states() const = 0;

  // Host memory of an upload input, 64-byte aligned, slot.bytes long, valid for the life of the
  // capture. Write before replay(); not while a replay is in flight. Empty for a kBind input.
  virtual std::span<std::byte> staging(size_t input) = 0;

  // The buffer a kBind input reads in the replays that follow. kInvalidArgument if it is shorter
  // than the layout, misaligned, of another device, or the input is not kBind.
  virtual Status bind(size_t input, Buffer& buffer) = 0;

  // Starts one replay. kInvalidArgument if one is in flight or a kBind input is not bound.
  virtual Result<Submission*> replay() = 0;

  // Output of the last completed replay. Unchanged while the next replay runs and after it
  // completes; overwritten by the one after that.
  virtual std::span<const std::byte> output(size_t output) const = 0;

  // Makes the shadow state written by the last completed replay current. Without it the next
  // replay starts from the same state as the last one did. A second commit() does nothing.
  virtual Status commit() = 0;

  // Back to the initial values; shadow state is dropped.
  virtual Status reset_state() = 0;

  // Current state, for mirroring into another capture of the same program.
  virtual Status read_state(size_t state, std::span<std::byte> out) const = 0;
  virtual Status write_state(size_t state, std::span<const std::byte> bytes) = 0;
};

std::optional<size_t> find_slot(std::span<const Slot> slots, std::string_view name);

// The frame bindings of a program's inputs, by position in Program::inputs (nothing for inputs
// that are not frames). Checks that every nv12 input is named exactly once, that no other name
// occurs, and every layout. For backends.
Result<std::vector<std::optional<FrameBinding>>> match_frames(const Program& program,
                                                              const CaptureOptions& options);

}  // namespace modeld
