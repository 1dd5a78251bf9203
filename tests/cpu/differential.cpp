#include "tests/cpu/differential.h"

#include <cmath>
#include <stdexcept>

#include "runtime/cpu/cpu_device.h"
#include "runtime/program/seeded_inputs.h"

namespace modeld::test {

Recorded record_on(const std::string& backend, const ProgramBuilder& builder, uint32_t threads,
                   const std::vector<FrameBinding>& frames) {
  Recorded recorded;
  auto device = open_backend(backend);
  if (!device.ok()) throw std::runtime_error(to_string(device.error()));
  recorded.device = std::move(device).value();
  MemoryWeights weights = builder.weights();
  CaptureOptions options;
  options.threads = threads;
  options.frames = frames;
  auto capture = recorded.device->record(builder.program(), weights, options);
  if (!capture.ok()) throw std::runtime_error(to_string(capture.error()));
  recorded.capture = std::move(capture).value();
  return recorded;
}

void fill_inputs(Capture& capture, uint64_t seed, uint32_t step) {
  for (size_t i = 0; i < capture.inputs().size(); ++i) {
    const Slot& slot = capture.inputs()[i];
    fill_seeded(capture.staging(i), slot.type.dtype, seed, static_cast<uint32_t>(i), step);
  }
}

void replay_once(Capture& capture) {
  auto submission = capture.replay();
  if (!submission.ok()) {
    ADD_FAILURE() << to_string(submission.error());
    return;
  }
  const Status done = (*submission)->wait(Deadline::after(Clock::real(), 60 * kSecond));
  if (!done.ok()) ADD_FAILURE() << to_string(done.error());
}

std::vector<double> output_values(const Capture& capture, size_t index) {
  return to_doubles(capture.outputs()[index].type.dtype, capture.output(index));
}

void expect_close(const std::vector<double>& have, const std::vector<double>& want, double relative,
                  double absolute) {
  ASSERT_EQ(have.size(), want.size());
  size_t wrong = 0;
  for (size_t i = 0; i < want.size() && wrong < 5; ++i) {
    const bool both_nan = std::isnan(have[i]) && std::isnan(want[i]);
    const double off = std::fabs(have[i] - want[i]);
    if (both_nan || have[i] == want[i] || off <= absolute + relative * std::fabs(want[i])) continue;
    ++wrong;
    ADD_FAILURE() << "element " << i << " of " << want.size() << ": " << have[i] << ", reference "
                  << want[i];
  }
}

void expect_same_as_reference(const ProgramBuilder& builder, double relative, double absolute) {
  const Recorded reference = record_on("reference", builder);
  fill_inputs(*reference.capture, 7);
  replay_once(*reference.capture);
  for (const uint32_t threads : {1u, 2u}) {
    SCOPED_TRACE("threads " + std::to_string(threads));
    const Recorded cpu = record_on("cpu", builder, threads);
    fill_inputs(*cpu.capture, 7);
    replay_once(*cpu.capture);
    for (size_t i = 0; i < cpu.capture->outputs().size(); ++i) {
      SCOPED_TRACE("output " + cpu.capture->outputs()[i].name);
      expect_close(output_values(*cpu.capture, i), output_values(*reference.capture, i), relative,
                   absolute);
    }
  }
}

void expect_op_same_as_reference(const OpCase& op, double relative, double absolute) {
  std::string what(to_string(op.kind));
  for (const TensorType& type : op.inputs) what += " " + to_string(type);
  SCOPED_TRACE(what);
  ProgramBuilder builder;
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    bool constant = false;
    for (const size_t position : op.constants) constant = constant || position == i;
    if (constant) {
      HostTensor value{op.inputs[i], std::vector<std::byte>(op.inputs[i].bytes())};
      fill_seeded(value.bytes, value.type.dtype, 3, static_cast<uint32_t>(i), 0);
      inputs.push_back(builder.constant(value));
    } else {
      inputs.push_back(builder.input("in" + std::to_string(i), op.inputs[i]));
    }
  }
  const std::vector<TensorId> outputs = builder.ops(op.kind, inputs, op.attributes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    builder.output(outputs[i], "out" + std::to_string(i));
  }
  expect_same_as_reference(builder, relative, absolute);
}

std::string lowering_of(const ProgramBuilder& builder) {
  const Recorded cpu = record_on("cpu", builder);
  std::string text;
  for (const CpuStep& step : cpu_steps(*cpu.capture)) {
    text += (text.empty() ? "" : "; ") + step.op + ": " + step.implementation;
  }
  return text;
}

}  // namespace modeld::test
