#include "tests/conformance/backend_suite.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/program/verify.h"

namespace modeld::test {
namespace {

void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(to_string(status.error()));
}

}  // namespace

void Conformance::SetUp() {
  auto opened = GetParam().open();
  ASSERT_TRUE(opened.ok()) << to_string(opened.error());
  device_ = std::move(opened).value();
}

std::unique_ptr<Capture> Conformance::record(const ProgramBuilder& builder,
                                             const CaptureOptions& options) {
  check(verify(builder.program(), builder.weights_bytes()));
  // The weights go away before the first replay: a capture must not need them any more.
  MemoryWeights weights = builder.weights();
  auto capture = device_->record(builder.program(), weights, options);
  if (!capture.ok()) throw std::runtime_error(to_string(capture.error()));
  return std::move(capture).value();
}

Error Conformance::record_error(const ProgramBuilder& builder, const CaptureOptions& options) {
  MemoryWeights weights = builder.weights();
  auto capture = device_->record(builder.program(), weights, options);
  if (capture.ok()) throw std::runtime_error("recorded, wanted a refusal");
  return std::move(capture).error();
}

Deadline soon() {
  return Deadline::after(Clock::real(), 60 * kSecond);
}

size_t slot_named(std::span<const Slot> slots, const std::string& name) {
  const auto position = find_slot(slots, name);
  if (!position) throw std::runtime_error("no slot " + name);
  return *position;
}

void stage(Capture& capture, const std::string& input, std::span<const std::byte> bytes) {
  const std::span<std::byte> to = capture.staging(slot_named(capture.inputs(), input));
  if (to.size() != bytes.size()) throw std::runtime_error("staging of another size: " + input);
  std::copy(bytes.begin(), bytes.end(), to.begin());
}

void stage(Capture& capture, const std::string& input, std::initializer_list<double> values) {
  const Slot& slot = capture.inputs()[slot_named(capture.inputs(), input)];
  stage(capture, input, to_bytes(slot.type.dtype, std::span(values.begin(), values.size())));
}

ReplayReport run(Capture& capture) {
  auto submission = capture.replay();
  if (!submission.ok()) throw std::runtime_error(to_string(submission.error()));
  check((*submission)->wait(soon()));
  return (*submission)->report();
}

std::vector<double> output_of(const Capture& capture, const std::string& name) {
  const size_t output = slot_named(capture.outputs(), name);
  return to_doubles(capture.outputs()[output].type.dtype, capture.output(output));
}

std::vector<double> state_of(const Capture& capture, const std::string& name) {
  const size_t state = slot_named(capture.states(), name);
  std::vector<std::byte> bytes(capture.states()[state].bytes);
  check(capture.read_state(state, bytes));
  return to_doubles(capture.states()[state].type.dtype, bytes);
}

}  // namespace modeld::test
