// The golden self-test: does this device compute what the reference interpreter computed when the
// artifact was made, slice by slice, and the same every time?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/artifact/model.h"
#include "runtime/device/device.h"
#include "runtime/selftest/reference_inputs.h"

namespace modeld {

struct SelfTestOptions {
  uint32_t repeats = 3;  // of every reference vector; 1 is enough to compare, not to be steady
  uint32_t threads = 0;  // host threads; 0: the backend's choice
  Nanoseconds replay_deadline = 10 * kSecond;
  // Asked before every run; true ends the test with kInterrupted. May be empty.
  std::function<bool()> stop = nullptr;
};

// How one slice did in one reference vector.
struct SliceResult {
  std::string output;
  std::string slice;
  uint64_t seed = 0;
  bool passed = false;
  std::string reason;  // of a failure: "outside tolerance", "constant", ...
  int64_t wrong_elements = 0;
  // The element furthest outside its tolerance (or nearest to it, if none is): index in the
  // output, values, |found - expected| and the most that was allowed.
  int64_t worst_element = 0;
  double expected = 0;
  double found = 0;
  double difference = 0;
  double allowed = 0;
};

// Runs of one reference vector that differ bit for bit from the first.
struct UnsteadyOutput {
  std::string output;
  uint64_t seed = 0;
  size_t distinct = 0;  // different results among all repeats, at least 2
  // The smallest box of indices that holds every element that ever differed: first and last index
  // per axis, both included.
  std::vector<int64_t> first;
  std::vector<int64_t> last;
};

struct SelfTestReport {
  bool passed = false;
  uint32_t repeats = 0;
  std::vector<SliceResult> slices;  // every slice of every reference vector
  std::vector<UnsteadyOutput> unsteady;
};

// Compares one reference vector's outputs with what the contract expects. `other` is the found
// output of another seed, or null: a slice that varies by contract must differ between the two.
// Outputs must have the contract's lengths.
std::vector<SliceResult> compare_with_reference(const Contract& contract,
                                                const ReferenceVector& reference,
                                                const OutputBytes& found, const OutputBytes* other,
                                                DeviceClass device_class);

// `capture` was recorded with reference_capture_options(). Leaves its state reset. An error is a
// test that could not be run; wrong numbers are a report that did not pass. kCheckFailed if the
// contract has no reference vectors: nothing is proven then.
Result<SelfTestReport> run_self_test(Capture& capture, const Contract& contract,
                                     DeviceClass device_class, const SelfTestOptions& options);

// Records a capture of its own for it.
Result<SelfTestReport> run_self_test(Device& device, const Model& model,
                                     const SelfTestOptions& options);

// The first thing that is wrong, as one line; empty if the report passed.
std::string describe_failure(const SelfTestReport& report);

}  // namespace modeld
