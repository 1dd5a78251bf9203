// A device for the frame loops: its answers digest everything it was fed, so that two runs agree if
// and only if their histories do, and it moves a manual clock itself, on one thread (unlike
// tests/support/scripted_device.h, which computes real programs on a thread of its own).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/device/device.h"

namespace modeld::test {

// Shared with the test, which changes it between frames. What happens is decided when the replay
// starts.
struct DigestScript {
  Nanoseconds takes = 0;  // the wait moves the clock by this much
  bool blocks = false;    // the wait ends at its deadline, again and again, until this is false
  std::optional<ErrorCode> fails_at_replay;
  std::optional<ErrorCode> fails_at_wait;
  std::optional<ErrorCode> fails_at_commit;
  bool can_import = false;
  uint32_t index_out_of_range = 0;
  uint32_t states_not_finite = 0;
  Nanoseconds cpu_wait = 0;  // as the report says
  // Runs when the pixels are in place and before the answer is made: a camera may write now.
  std::function<void()> during_replay;
  // Changes the answer: value `index` of output 0.
  std::function<void(std::span<float>)> spoil;

  uint64_t replays = 0;
  uint64_t commits = 0;
  uint64_t records = 0;
  uint64_t imports = 0;
  uint64_t imports_held = 0;  // not yet given back
};

// Answers every output (all f32) with small finite numbers that depend on every staged or bound
// byte that was sampled and on the state; the state is a digest of all committed frames, so that
// two runs agree exactly if and only if their histories do.
class DigestDevice final : public Device {
 public:
  DigestDevice(Contract contract, DigestScript& script, ManualClock& clock);

  const DeviceCapabilities& capabilities() const override { return capabilities_; }
  Result<std::unique_ptr<Buffer>> allocate(uint64_t bytes, uint64_t alignment) override;
  Result<std::unique_ptr<Buffer>> import_host(std::span<std::byte> pages) override;
  Result<std::unique_ptr<Capture>> record(const Program& program, WeightSource& weights,
                                          const CaptureOptions& options) override;

 private:
  Contract contract_;
  DigestScript& script_;
  ManualClock& clock_;
  DeviceCapabilities capabilities_;
};

}  // namespace modeld::test
