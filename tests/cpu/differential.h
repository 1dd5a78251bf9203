// Programs run on the cpu backend and on the reference backend with equal inputs.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/backends.h"
#include "tests/support/program_builder.h"

namespace modeld::test {

// A capture with the device it needs.
struct Recorded {
  std::unique_ptr<Device> device;
  std::unique_ptr<Capture> capture;
};

// Throws std::runtime_error, which fails the test, when the program is refused.
Recorded record_on(const std::string& backend, const ProgramBuilder& builder, uint32_t threads = 1,
                   const std::vector<FrameBinding>& frames = {});

// Fills every staged input from a seed (fill_seeded; frame `step`).
void fill_inputs(Capture& capture, uint64_t seed, uint32_t step = 0);

// One replay, waited for; fails the test on any error.
void replay_once(Capture& capture);

std::vector<double> output_values(const Capture& capture, size_t index);

// |a - b| <= absolute + relative * |b|; NaN equals NaN, infinities must be equal.
void expect_close(const std::vector<double>& have, const std::vector<double>& want, double relative,
                  double absolute);

// Runs the builder's program on both backends with 1 and 2 threads and compares every output.
void expect_same_as_reference(const ProgramBuilder& builder, double relative = 1e-5,
                              double absolute = 1e-5);

// One op on seeded inputs of the given types, its first output compared. Inputs listed in
// `constants` (by position) are weights.
struct OpCase {
  OpKind kind;
  std::vector<TensorType> inputs;
  Attributes::Map attributes = {};
  std::vector<size_t> constants = {};
};
void expect_op_same_as_reference(const OpCase& op, double relative = 1e-5, double absolute = 1e-5);

// What the cpu backend runs for a one-op program, joined by "; ".
std::string lowering_of(const ProgramBuilder& builder);

}  // namespace modeld::test
