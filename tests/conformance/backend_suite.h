// The suite every backend passes: written once, instantiated per backend in instances.cpp.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "tests/support/program_builder.h"

namespace modeld::test {

struct BackendCase {
  std::string name;
  std::function<Result<std::unique_ptr<Device>>()> open;
  // Heap allocations of this thread inside a driver so far, where the backend has one: they are the
  // driver's affair, and what its own threads allocate is not looked at.
  std::function<uint64_t()> driver_allocations;
};

// Every backend of this build and the scripted double.
std::vector<BackendCase> all_backends();

// A fresh device per test.
class Conformance : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override;

  Device& device() { return *device_; }
  // Verified and recorded; a failure ends the test by an exception.
  std::unique_ptr<Capture> record(const ProgramBuilder& builder,
                                  const CaptureOptions& options = {});
  Error record_error(const ProgramBuilder& builder, const CaptureOptions& options);

 private:
  std::unique_ptr<Device> device_;
};

// Long enough for any test replay on a busy machine.
Deadline soon();

size_t slot_named(std::span<const Slot> slots, const std::string& name);
void stage(Capture& capture, const std::string& input, std::span<const std::byte> bytes);
void stage(Capture& capture, const std::string& input, std::initializer_list<double> values);
// Replays and waits; the report of that replay.
ReplayReport run(Capture& capture);
std::vector<double> output_of(const Capture& capture, const std::string& name);
std::vector<double> state_of(const Capture& capture, const std::string& name);

}  // namespace modeld::test
