// Whether the outputs of a replay may be believed, by the artifact's own contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/health/frame_counters.h"
#include "runtime/artifact/contract.h"
#include "runtime/device/capture.h"

namespace modeld {

// What is wrong first, in the order of outputs and elements.
struct OutputVerdict {
  InvalidReason reason = InvalidReason::kNone;
  uint32_t output = 0;
  // Index into the output's slices; kNoSlice for an element that no slice covers.
  uint32_t slice = 0;
  int64_t element = 0;  // of the whole output; for kOutputConstant the slice's first
  double value = 0;

  static constexpr uint32_t kNoSlice = UINT32_MAX;
  bool valid() const { return reason == InvalidReason::kNone; }
};

// Checks, in this order: indices and divisions of the replay, next states finite, every element
// finite, every slice in its declared range, every slice that varies by contract not constant.
// Allocates nothing after construction. Immutable; thread-safe.
class OutputValidator {
 public:
  explicit OutputValidator(std::vector<OutputContract> outputs);

  OutputVerdict check_report(const ReplayReport& report) const;
  // `bytes` is output `index` of a completed replay, as long as its contract says.
  OutputVerdict check_output(size_t index, std::span<const std::byte> bytes) const;
  // Everything: the report and every output of `capture`.
  OutputVerdict check(const Capture& capture, const ReplayReport& report) const;

  // One line for people: output, slice, element, value, what was expected.
  std::string describe(const OutputVerdict& verdict) const;

 private:
  std::vector<OutputContract> outputs_;
};

}  // namespace modeld
